"""Hot spots of a table on DynamoDB as AWS documents it, counted on a simulated clock."""
