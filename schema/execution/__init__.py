"""Execution of GraphQL documents: limits, cost, errors, subscriptions."""
