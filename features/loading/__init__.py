"""Loads files into the table. Rows that cannot be loaded are written to a separate file."""
