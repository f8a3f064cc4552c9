"""The data-access layer: plans DynamoDB queries, runs them and merges their answers into pages."""
