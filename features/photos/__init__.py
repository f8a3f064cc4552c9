"""Uploads of photos."""
