"""Loads files: parses their rows into domain objects, and sets rows that break a rule aside."""
