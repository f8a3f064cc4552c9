"""Thousands of malformed and hostile requests."""
