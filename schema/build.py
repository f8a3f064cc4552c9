"""Builds the schema from its roots, with the caches and limits of every operation."""

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from graphql import GraphQLError
from strawberry import Schema
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.types.base_scalars import DateTimeDefinition
from strawberry.types import ExecutionContext, ExecutionResult
from strawberry.types.scalar import ScalarDefinition

from schema.comments import Comment, Product
from schema.documents import DocumentCache, Documents
from schema.errors import log_faults, told
from schema.introspection import withheld
from schema.messages import INSTANT
from schema.mutation import Mutation
from schema.orders import Order
from schema.organizations import Organization, OrganizationUser
from schema.query import Query
from schema.tickets import Ticket
from schema.users import User

NODE_TYPES = (Comment, Order, Organization, OrganizationUser, Product, Ticket, User)
"""The types that a client meets through the Node interface."""


class _Schema(Schema):
    """Strawberry's schema with a cache of documents, and errors as ``schema.errors`` has them."""

    def __init__(self, *, introspection: bool, **roots: Any) -> None:
        super().__init__(**roots)
        self._introspection = introspection
        documents = DocumentCache(self._schema, introspection=introspection)
        self.extensions = (partial(Documents, documents),)

    async def execute(self, *args: Any, **kwargs: Any) -> ExecutionResult:
        result = await super().execute(*args, **kwargs)
        if result.errors:
            shown = result.errors if self._introspection else withheld(result.errors)
            result.errors = told(shown)
        return result

    def process_errors(
        self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None
    ) -> None:
        del execution_context
        log_faults(errors)


def build_schema(*, introspection: bool = True) -> Schema:
    """Return the executable schema; without ``introspection`` it is not shown to clients."""
    scalars: dict[object, ScalarDefinition] = {
        datetime: replace(
            DateTimeDefinition, description=f"It is {INSTANT}; UTC, unless it says another zone."
        )
    }
    return _Schema(
        introspection=introspection,
        query=Query,
        mutation=Mutation,
        types=NODE_TYPES,
        config=StrawberryConfig(scalar_map=scalars),
    )
