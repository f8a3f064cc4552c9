"""Keys, items, ranges and indexes of a DynamoDB table, independent of the entities."""
