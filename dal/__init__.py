"""The data-access layer: plans DynamoDB queries, sends them, and merges their rows into pages."""
