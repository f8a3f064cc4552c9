"""Strawberry's private names, under public names.

No other module uses a private name of Strawberry, except ``resolvers.info_door``. pyproject.toml
limits Strawberry's version, and ``tests/test_private_names.py`` fails if a name changes.
"""

import strawberry
from graphql import GraphQLSchema


def core_schema(schema: strawberry.Schema) -> GraphQLSchema:
    """Return graphql-core's schema, from which a Strawberry schema is made."""
    return schema._schema
