"""The transport to DynamoDB: requests, retries, credentials, streams and administration."""
