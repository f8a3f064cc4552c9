"""Writes of comments: the changes, their transactions, and what belongs to a deleted comment."""
