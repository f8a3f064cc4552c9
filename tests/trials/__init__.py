"""Trials run longer than tests. Each is a command that prints its findings."""
