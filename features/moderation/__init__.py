"""Moderation of comments."""
