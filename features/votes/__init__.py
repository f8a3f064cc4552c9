"""Helpful votes."""
