"""Queries, their plans, and the pages that plans read."""
