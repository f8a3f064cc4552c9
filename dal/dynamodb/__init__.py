"""The client of DynamoDB: requests, retries, credentials and administration."""
