"""A schema that checks and executes operations, within their limits, and words their errors.

Queries and mutations have one result; a subscription has one for each event.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Any

from graphql import GraphQLError
from graphql.execution import ExecutionResult as CoreResult
from graphql.execution.values import VariableValues
from strawberry import Schema
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from dal.account import Account, opened
from dal.deadline import Deadline, deadline
from dal.limits import MAX_EVENT_REQUESTS
from dal.live.changes import CommentEvent
from dal.live.log import Listener, SlowListenerError
from resolvers.authorization import is_staff
from resolvers.context import Context
from schema.execution.cost import Cost, QueryTooCostlyError, Reads
from schema.execution.documents import (
    CheckedOperation,
    DocumentCache,
    charged,
    faults_of_variables,
)
from schema.execution.errors import client_errors, log_faults

PACED_VALUES = 2_000
"""Values of a result above which other requests get turns of the event loop meanwhile."""


@dataclass
class SizedResult(ExecutionResult):
    """A result with its predicted number of values; None if no cost was predicted.

    ``operation`` is the requested operation, None if the document lacks it.
    """

    values: float | None = None
    operation: CheckedOperation | None = None


@dataclass(frozen=True, slots=True)
class EventResult:
    """The result of a subscription for one event, and the cursor to resume after it."""

    cursor: str
    result: ExecutionResult


class RefusedSubscriptionError(Exception):
    """A subscription cannot begin; ``errors`` are as the client may see them."""

    def __init__(self, errors: list[GraphQLError]) -> None:
        super().__init__("The subscription was refused.")
        self.errors = errors


class ExecutableSchema(Schema):
    """Strawberry's types and resolvers, with caches and limits of operations.

    ``reads`` has the reads of fields by ``Type.field``. Without ``introspection`` clients do not
    see the schema.
    """

    def __init__(self, *, introspection: bool, reads: Mapping[str, Reads], **roots: Any) -> None:
        super().__init__(**roots)
        self._introspection = introspection
        self.documents = DocumentCache(self._schema, reads, introspection=introspection)

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
        execution = _Execution(
            self.documents, variable_values, context_value, root_value, operation_extensions
        )
        allowed = OperationType if allowed_operation_types is None else allowed_operation_types
        result = await execution.result(query or "", operation_name, allowed)
        if result.errors:
            result.errors = self.client_errors(result.errors)
        return result

    async def listen(
        self,
        query: str,
        variables: Mapping[str, Any] | None,
        name: str | None,
        *,
        context: Callable[[], Context],
        seconds: float,
    ) -> AsyncGenerator[EventResult, None]:
        """Return a subscription's results to come, each executed within ``seconds``.

        ``context`` makes a new context for each event. RefusedSubscriptionError if the subscription
        cannot begin. The results end with SlowListenerError if the client takes them too slowly.
        """
        try:
            operation, values = self._subscription(query, variables or {}, name)
        except GraphQLError as error:
            raise self._refused([error]) from None
        events = await operation.compiled.source(values, context_value=context())
        if isinstance(events, CoreResult):
            log_faults(events.errors or [])
            raise self._refused(events.errors or [])
        assert isinstance(events, Listener)  # noqa: S101 - all subscriptions are of comments
        return self._results(operation, values, events, context, seconds)

    def _subscription(
        self, text: str, variables: Mapping[str, Any], name: str | None
    ) -> tuple[CheckedOperation, VariableValues]:
        """Return the operation and its coerced variables, or raise one of two errors."""
        checked = self.documents.checked(text)
        operation = checked.operation(name)
        errors = checked.errors or faults_of_variables(variables)
        values = errors or operation.compiled.coerced(variables)
        if isinstance(values, list):
            raise self._refused(values)
        if operation.node.operation.value != OperationType.SUBSCRIPTION.value:
            raise GraphQLError("Only subscriptions are answered here: send the rest by POST.")
        with charged():
            cost = operation.costs.cost(values.coerced)
        try:
            cost.check()
        except QueryTooCostlyError as error:
            raise GraphQLError(str(error), original_error=error) from None
        if cost.requests > MAX_EVENT_REQUESTS:
            sentence = (
                f"Each event would take about {cost.requests:,.0f} requests to DynamoDB; the most "
                f"is {MAX_EVENT_REQUESTS}: select lists in a separate query."
            )
            raise GraphQLError(sentence, original_error=QueryTooCostlyError(sentence))
        return operation, values

    async def _results(
        self,
        operation: CheckedOperation,
        values: VariableValues,
        events: Listener,
        context: Callable[[], Context],
        seconds: float,
    ) -> AsyncGenerator[EventResult, None]:
        async with aclosing(events):
            async for event in events:
                found = await _executed_for_event(operation, values, event, context(), seconds)
                errors = found.errors and self.client_errors(found.errors)
                yield EventResult(event.cursor, ExecutionResult(found.data, errors))

    def client_errors(self, errors: list[GraphQLError]) -> list[GraphQLError]:
        """Return errors as the client may see them."""
        return client_errors(errors, introspection=self._introspection)

    def _refused(self, errors: list[GraphQLError]) -> RefusedSubscriptionError:
        return RefusedSubscriptionError(self.client_errors(errors))


async def _executed_for_event(
    operation: CheckedOperation,
    values: VariableValues,
    event: CommentEvent,
    context: Context,
    seconds: float,
) -> CoreResult:
    end = Deadline()
    end.restart(seconds)
    try:
        with deadline(end):
            found = await operation.compiled.execute(
                values, root_value=event, context_value=context
            )
    except SlowListenerError:
        raise
    except Exception as error:  # noqa: BLE001 - the subscription continues with the next event
        found = CoreResult(None, [GraphQLError(str(error), original_error=error)])
    log_faults(found.errors or [])
    return found


class _Execution:
    """One request for a query or a mutation; it is executed once."""

    def __init__(
        self,
        documents: DocumentCache,
        variables: Mapping[str, Any] | None,
        context: Any,
        root_value: Any,
        extensions: Mapping[str, Any] | None,
    ) -> None:
        self._documents = documents
        self._variables = variables or {}
        self._context = context
        self._root_value = root_value
        self._extensions = extensions or {}
        self._operation: CheckedOperation | None = None
        self._cost: Cost | None = None
        self._account = Account()

    async def result(
        self, text: str, name: str | None, allowed: Iterable[OperationType]
    ) -> ExecutionResult:
        """Return the result; its errors are logged, but not yet as clients may see them."""
        try:
            found = await self._executed(text, name, allowed)
        except GraphQLError as error:
            found = CoreResult(None, [error])
        except InvalidOperationTypeError:
            raise
        except Exception as error:  # noqa: BLE001 - this request fails, the server continues
            found = CoreResult(None, [GraphQLError(str(error), original_error=error)])
        if found.errors:
            log_faults(found.errors)
        values = None if self._cost is None else self._cost.values
        return SizedResult(found.data, found.errors, self._shown_cost(), values, self._operation)

    async def _executed(
        self, text: str, name: str | None, allowed: Iterable[OperationType]
    ) -> CoreResult:
        checked = self._documents.checked(text)
        operation = self._operation = checked.operation(name)
        kind = OperationType(operation.node.operation.value)
        if kind not in allowed:
            raise InvalidOperationTypeError(kind)
        if kind is OperationType.SUBSCRIPTION:
            raise GraphQLError(
                "A subscription has many answers: ask by WebSocket with the protocol "
                "graphql-transport-ws, or with 'Accept: text/event-stream'."
            )
        with charged():
            errors = checked.errors or faults_of_variables(self._variables)
            values = errors or operation.compiled.coerced(self._variables)
            if isinstance(values, list):
                return CoreResult(None, values)
            self._cost = operation.costs.cost(values.coerced)
            try:
                self._cost.check()
            except QueryTooCostlyError as error:
                raise GraphQLError(str(error), original_error=error) from None
            if self._cost.values > PACED_VALUES and self._context is not None:
                self._context.pace.slow_down()
            operation.compiled.prepare()
        with opened() as self._account:
            return await operation.compiled.execute(
                values,
                root_value=self._root_value,
                context_value=self._context,
                operation_extensions=self._extensions,
            )

    def _shown_cost(self) -> dict[str, Any]:
        """Return ``extensions.cost`` if the request wants it and the viewer may see it."""
        if self._extensions.get("cost") is not True or self._cost is None:
            return {}
        if not self._sees_cost():
            return {}
        return {"cost": {"predicted": self._cost.rounded(), "actual": asdict(self._account)}}

    def _sees_cost(self) -> bool:
        """Return whether the viewer may see the cost, which can reveal that an object exists."""
        if self._context is None or self._operation is None:
            return False
        viewer = self._context.viewer
        if viewer is not None and is_staff(viewer):
            return True
        return bool(self._context.explain) and self._operation.impersonal
