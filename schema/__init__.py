"""The GraphQL schema: Strawberry types that expose the domain objects of ``dal``."""
