"""The embedded engine, which is a DynamoDB-compatible database in one file, and its backups."""
