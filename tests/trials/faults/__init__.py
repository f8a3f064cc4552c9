"""Faults between a server and its store: what clients receive, and whether writes are lost."""
