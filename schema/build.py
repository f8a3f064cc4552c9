"""Builds the schema from its roots, with the caches and limits of every operation."""

from collections.abc import Iterable
from typing import Any

from strawberry import Schema
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from schema.comments import Comment, Product
from schema.documents import DocumentCache
from schema.errors import told
from schema.execution import Execution
from schema.introspection import withheld
from schema.mutation import Mutation
from schema.orders import Order
from schema.organizations import Organization, OrganizationUser
from schema.query import Query
from schema.scalars import SCALARS
from schema.tickets import Ticket
from schema.users import User

NODE_TYPES = (Comment, Order, Organization, OrganizationUser, Product, Ticket, User)
"""The types that a client meets through the Node interface."""


class ExecutableSchema(Schema):
    """Strawberry's types and resolvers, executed by ``schema.execution``."""

    def __init__(self, *, introspection: bool, **roots: Any) -> None:
        super().__init__(**roots)
        self._introspection = introspection
        self.documents = DocumentCache(self._schema, introspection=introspection)

    async def execute(
        self,
        query: str | None,
        variable_values: dict[str, Any] | None = None,
        context_value: Any | None = None,
        root_value: Any | None = None,
        operation_name: str | None = None,
        allowed_operation_types: Iterable[OperationType] | None = None,
        operation_extensions: dict[str, Any] | None = None,
    ) -> ExecutionResult:
        """Return the result of an operation, its errors as its client may see them."""
        execution = Execution(
            self.documents, variable_values, context_value, root_value, operation_extensions
        )
        allowed = OperationType if allowed_operation_types is None else allowed_operation_types
        result = await execution.result(query or "", operation_name, allowed)
        if result.errors:
            shown = result.errors if self._introspection else withheld(result.errors)
            result.errors = told(shown)
        return result


def build_schema(*, introspection: bool = True) -> ExecutableSchema:
    """Return the executable schema; without ``introspection`` it is not shown to clients."""
    return ExecutableSchema(
        introspection=introspection,
        query=Query,
        mutation=Mutation,
        types=NODE_TYPES,
        config=StrawberryConfig(scalar_map=dict(SCALARS)),
    )
