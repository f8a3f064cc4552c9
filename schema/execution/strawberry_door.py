"""Strawberry's private names, under public names.

No other module uses a private name of Strawberry, except ``resolvers.info_door``. pyproject.toml
limits Strawberry's version, and ``tests/test_private_names.py`` fails if a name changes.
"""

from operator import attrgetter
from typing import Any

import strawberry
from graphql import GraphQLSchema
from strawberry import Info


def core_schema(schema: strawberry.Schema) -> GraphQLSchema:
    """Return graphql-core's schema, from which a Strawberry schema is made."""
    return schema._schema


class LazyInfo(Info[Any, Any]):
    """Strawberry's info of a field. A subclass computes its two parts only when they are read.

    ``core_info`` is graphql-core's info, and ``strawberry_field`` is Strawberry's field.
    """

    _raw_info = property(attrgetter("core_info"))
    _field = property(attrgetter("strawberry_field"))
