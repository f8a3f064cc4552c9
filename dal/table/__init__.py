"""All that speaks DynamoDB: keys, requests, the client; nothing of comments."""
