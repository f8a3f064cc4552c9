"""Builds the schema from its roots, with the caches and limits of every operation."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any

from graphql import GraphQLError
from strawberry import Schema
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from resolvers.request.context import Context
from schema.arguments import finish
from schema.comment_events import Subscription
from schema.comments import Comment, Product
from schema.execution.documents import DocumentCache
from schema.execution.errors import told
from schema.execution.execute import Execution
from schema.execution.introspection import withheld
from schema.execution.subscribing import Answer, RefusedSubscriptionError, Subscribing
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
    """Strawberry's types and resolvers, executed by ``schema.execution.execute``."""

    def __init__(self, *, introspection: bool, **roots: Any) -> None:
        super().__init__(**roots)
        finish(self._schema)
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
            result.errors = self._told(result.errors)
        return result

    async def listen(
        self,
        query: str,
        variables: Mapping[str, Any] | None,
        name: str | None,
        *,
        context: Callable[[], Context],
        seconds: float,
    ) -> AsyncGenerator[Answer, None]:
        """Return the answers to come of a subscription, each made within some ``seconds``.

        RefusedSubscriptionError has the errors as the client may see them.
        """
        subscribing = Subscribing(self.documents, variables, context, seconds)
        try:
            answers = await subscribing.answers(query, name)
        except RefusedSubscriptionError as refused:
            raise RefusedSubscriptionError(self._told(refused.errors)) from None
        return self._shown(answers)

    async def _shown(self, answers: AsyncGenerator[Answer, None]) -> AsyncGenerator[Answer, None]:
        async with aclosing(answers):
            async for answer in answers:
                if answer.result.errors:
                    answer.result.errors = self._told(answer.result.errors)
                yield answer

    def _told(self, errors: list[GraphQLError]) -> list[GraphQLError]:
        return told(errors if self._introspection else withheld(errors))


def build_schema(
    *, introspection: bool = True, kind: type[ExecutableSchema] = ExecutableSchema
) -> ExecutableSchema:
    """Return the executable schema; without ``introspection`` it is not shown to clients."""
    return kind(
        introspection=introspection,
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=NODE_TYPES,
        config=StrawberryConfig(scalar_map=dict(SCALARS)),
    )
