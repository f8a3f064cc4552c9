"""Kinds of items, corrections and counting modes, for commands on the whole table."""
