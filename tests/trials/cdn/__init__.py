"""A caching proxy in front of a server: how much it helps, and whether it stores private data."""
