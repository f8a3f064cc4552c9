"""Faults between a server and its store: what clients see, and whether anything is lost."""
