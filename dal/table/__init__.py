"""The vocabulary of a DynamoDB table: keys, items, ranges, indexes. It knows no entity."""
