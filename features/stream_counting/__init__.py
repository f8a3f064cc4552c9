"""Keeps counts of comments by reading the table's stream, so that other programs can write too."""
