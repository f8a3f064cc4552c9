"""Loads files: JSONL or CSV to rows, rows to domain objects, and what fits no rule to rejects."""
