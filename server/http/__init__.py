"""Serves GraphQL and GraphiQL over HTTP, limits requests, and sends errors as GraphQL responses."""
