"""Execution of a subscription: checked once as any operation, then executed for each event."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLError, OperationType
from graphql.execution import ExecutionResult as CoreResult
from graphql.execution.values import VariableValues
from strawberry.types import ExecutionResult

from dal.deadline import Deadline, deadline
from dal.limits import MAX_EVENT_REQUESTS
from dal.live.changes import CommentEvent
from dal.live.log import Listener, SlowListenerError
from resolvers.request.context import Context
from schema.execution.cost import QueryTooCostlyError
from schema.execution.documents import DocumentCache, Operation
from schema.execution.errors import log_faults
from schema.execution.execute import chosen
from schema.execution.measure import faults_of_variables
from schema.execution.processor_time import charged


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one event, and the cursor to go on behind it."""

    cursor: str
    result: ExecutionResult


class RefusedSubscriptionError(Exception):
    """There is nothing to listen to; ``errors`` say why."""

    def __init__(self, errors: list[GraphQLError]) -> None:
        super().__init__("The subscription was refused.")
        self.errors = errors


class Subscribing:
    """One request for a subscription; ``context`` makes a new context for each event."""

    def __init__(
        self,
        documents: DocumentCache,
        variables: Mapping[str, Any] | None,
        context: Callable[[], Context],
        seconds: float,
    ) -> None:
        self._documents = documents
        self._variables = variables or {}
        self._context = context
        self._seconds = seconds

    async def answers(self, text: str, name: str | None) -> AsyncGenerator[Answer, None]:
        """Return the answers to come; RefusedSubscriptionError where there will be none.

        They end with SlowListenerError when the client takes them too slowly.
        """
        try:
            operation, values = self._checked(text, name)
        except GraphQLError as error:
            raise RefusedSubscriptionError([error]) from None
        events = await operation.compiled.source(values, context_value=self._context())
        if isinstance(events, CoreResult):
            log_faults(events.errors or [])
            raise RefusedSubscriptionError(events.errors or [])
        assert isinstance(events, Listener)  # noqa: S101 - all subscriptions are of comments
        return self._answered(operation, values, events)

    def _checked(self, text: str, name: str | None) -> tuple[Operation, VariableValues]:
        checked = self._documents.checked(text)
        operation = chosen(checked, name)
        errors = checked.errors or faults_of_variables(self._variables)
        values = errors or operation.compiled.coerced(self._variables)
        if isinstance(values, list):
            raise RefusedSubscriptionError(values)
        if operation.node.operation is not OperationType.SUBSCRIPTION:
            raise GraphQLError("Only subscriptions are answered here: send the rest by POST.")
        with charged():
            _check_cost(operation, values.coerced)
        return operation, values

    async def _answered(
        self, operation: Operation, values: VariableValues, events: Listener
    ) -> AsyncGenerator[Answer, None]:
        async with aclosing(events):
            async for event in events:
                yield Answer(event.cursor, await self._answer(operation, values, event))

    async def _answer(
        self, operation: Operation, values: VariableValues, event: CommentEvent
    ) -> ExecutionResult:
        """Execute the operation for one event, within the event's deadline."""
        end = Deadline()
        end.restart(self._seconds)
        try:
            with deadline(end):
                found = await operation.compiled.execute(
                    values, root_value=event, context_value=self._context()
                )
        except SlowListenerError:
            raise
        except Exception as error:  # noqa: BLE001 - one event of many: the subscription goes on
            found = CoreResult(None, [GraphQLError(str(error), original_error=error)])
        log_faults(found.errors or [])
        return ExecutionResult(found.data, found.errors)


def _check_cost(operation: Operation, variables: Mapping[str, Any]) -> None:
    """Refuse an operation that reads too much for each event."""
    cost = operation.costs.cost(variables)
    try:
        cost.check()
    except QueryTooCostlyError as error:
        raise GraphQLError(str(error), original_error=error) from None
    if cost.requests > MAX_EVENT_REQUESTS:
        sentence = (
            f"Each event would take about {cost.requests:,.0f} requests to DynamoDB; the most is "
            f"{MAX_EVENT_REQUESTS}: select lists in a separate query."
        )
        raise GraphQLError(sentence, original_error=QueryTooCostlyError(sentence))
