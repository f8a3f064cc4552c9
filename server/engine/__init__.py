"""Runs the embedded engine, a DynamoDB-compatible database in one file, and its data directory."""
