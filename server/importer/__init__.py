"""Loads files: parses rows into domain objects, and writes invalid rows to a rejects file."""
