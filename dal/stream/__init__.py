"""Counts the comments of a table that other programs also write to, from the table's stream."""
