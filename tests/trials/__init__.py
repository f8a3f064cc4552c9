"""Trials that take longer than a test may: each is a command that prints what it saw."""
