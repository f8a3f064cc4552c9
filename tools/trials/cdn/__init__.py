"""A caching proxy in front of a server: its hits, and whether it stores private data."""
