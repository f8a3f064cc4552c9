"""nginx in front of a server: its rules, its hits, and whether it stores private data."""
