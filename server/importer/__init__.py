"""Loads files: parses rows into domain objects, and writes rejected rows to a separate file."""
