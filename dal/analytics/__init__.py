"""Answers questions about all comments by a columnar store, which has a copy of the comments."""
