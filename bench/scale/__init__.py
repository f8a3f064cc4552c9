"""A simulation of DynamoDB's limits: which one a large shop meets first, and at what rate."""
