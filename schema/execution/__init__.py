"""Executes GraphQL documents: limits, cost, errors and subscriptions."""
