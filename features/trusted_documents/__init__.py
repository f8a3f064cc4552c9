"""Trusted documents: documents of operations that clients request by id."""
