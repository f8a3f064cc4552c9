"""Counts the comments of tables that other programs also write to, from the table's stream."""
