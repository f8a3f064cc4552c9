"""The GraphQL schema: Strawberry types over the domain objects of ``dal``."""
