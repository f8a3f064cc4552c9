"""Kinds of items and corrections: what features add to commands on the whole table."""
