"""Two servers with two workers each, over one table."""
