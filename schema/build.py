"""Builds the schema from its roots, with the caches and limits of every operation."""

from functools import partial
from typing import Any

from graphql import GraphQLError
from strawberry import Schema
from strawberry.types import ExecutionContext, ExecutionResult

from schema.comments import Comment, Product
from schema.documents import DocumentCache, Documents
from schema.errors import log_faults, told
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

    def __init__(self, **roots: Any) -> None:
        super().__init__(**roots)
        self.extensions = (partial(Documents, DocumentCache(self._schema)),)

    async def execute(self, *args: Any, **kwargs: Any) -> ExecutionResult:
        result = await super().execute(*args, **kwargs)
        if result.errors:
            result.errors = told(result.errors)
        return result

    def process_errors(
        self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None
    ) -> None:
        del execution_context
        log_faults(errors)


def build_schema() -> Schema:
    """Return the executable schema."""
    return _Schema(query=Query, mutation=Mutation, types=NODE_TYPES)
