"""A caching proxy before a server: what it saves, and whether it keeps what is private."""
