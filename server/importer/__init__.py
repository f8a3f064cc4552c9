"""Loads files into the table, and writes the rows that cannot be loaded to a separate file."""
