"""Strawberry's private names, under public names.

No other module uses a private name of Strawberry, except ``resolvers.info_door``. pyproject.toml
limits Strawberry's version, and ``tests/test_private_names.py`` fails if a name changes.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import strawberry
from graphql import GraphQLSchema
from strawberry import Info
from strawberry.types.field import StrawberryField


def core_schema(schema: strawberry.Schema) -> GraphQLSchema:
    """Return graphql-core's schema, from which a Strawberry schema is made."""
    return schema._schema


class LazyInfo(Info[Any, Any]):
    """Strawberry's info of a field, which creates graphql-core's info only when it is read.

    Most resolvers read only the context. ``create`` returns graphql-core's info.
    """

    context: Any = None

    def __init__(self, field: StrawberryField, context: Any, create: Callable[[], Any]) -> None:
        self.context = context
        self._of = field
        self._create = create

    @cached_property
    def _raw_info(self) -> Any:  # type: ignore[override]
        return self._create()

    @property
    def _field(self) -> StrawberryField:  # type: ignore[override]
        return self._of
