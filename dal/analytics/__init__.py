"""Answers questions about all comments with a columnar store, which has a copy of the comments."""
