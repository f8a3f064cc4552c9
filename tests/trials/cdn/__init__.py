"""A caching proxy before a server: its gain, and whether it stores private data."""
