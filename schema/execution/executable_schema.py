"""A schema that checks operations, executes them within limits, and converts errors for clients.

Queries and mutations have one result. A subscription has one result for each event.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import aclosing
from copy import copy
from dataclasses import dataclass
from typing import Any, cast

from graphql import (
    GraphQLArgument,
    GraphQLError,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    Undefined,
)
from graphql.execution import ExecutionResult as CoreResult
from graphql.execution.values import VariableValues
from graphql.utilities.print_schema import print_schema_definition
from strawberry import Schema
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField
from strawberry.types.graphql import OperationType

from schema.execution.compiled.answer_size import PACED_VALUES, AnswerSize
from schema.execution.cost import Cost
from schema.execution.documents import (
    CheckedOperation,
    DocumentCache,
    charged,
    faults_of_variables,
)
from schema.execution.errors import client_errors, log_faults
from schema.execution.facts import SchemaFacts
from schema.execution.host import Account, Context, Events, Host
from schema.execution.semantic_nulls import mark_semantic_non_null
from schema.execution.strawberry_door import core_schema

MAX_EVENT_REQUESTS = 5
"""Maximum requests to DynamoDB for one event of a subscription: enough for one or two fields that
read from the table."""

MAX_RESPONSE = 9_000_000
"""Maximum bytes of a response, of a subscription's event and of an HTML page. The bytes of a result
are counted while an operation runs. The largest page of comments has 7.8 MB: 100 comments, each
with a text of 10,000 characters, a reply of 2,000 characters and 10 photos, at four bytes per
character."""


@dataclass
class OperationResult(ExecutionResult):
    """A result with its operation.

    ``operation`` is None if the document cannot be parsed, or does not have the requested
    operation.
    """

    operation: CheckedOperation | None = None


@dataclass(frozen=True, slots=True)
class EventResult:
    """The result of a subscription for one event, and the event's cursor."""

    cursor: str
    result: ExecutionResult


class RefusedSubscriptionError(Exception):
    """A subscription cannot begin. ``errors`` are in the form that the client may see."""

    def __init__(self, errors: list[GraphQLError]) -> None:
        super().__init__("The subscription was refused.")
        self.errors = errors


class ExecutableSchema(Schema):
    """Strawberry's schema, with a cache of documents and limits for operations.

    ``host`` is the program that executes operations. ``facts`` has the facts of all fields. Without
    ``introspection``, clients cannot see the schema. Without ``explain``, the schema lacks the
    fields and arguments with ``EXPLAINED`` in their metadata, and the types that only these fields
    use. With ``compiles``, repeated operations are compiled to Python functions; otherwise
    graphql-core executes all operations.
    """

    def __init__(
        self,
        *,
        host: Host,
        introspection: bool = True,
        explain: bool = False,
        compiles: bool = True,
        **roots: Any,
    ) -> None:
        self.explain = explain
        super().__init__(**roots)
        self.host = host
        self._introspection = introspection
        self.facts = SchemaFacts(host.limits)
        self._visit_types()
        self.documents = DocumentCache(
            core_schema(self), self.facts, introspection=introspection, compiles=compiles
        )

    def get_fields(self, type_definition: StrawberryObjectDefinition) -> list[StrawberryField]:
        """Return a type's fields. Without ``explain``, omit the explained fields."""
        fields = super().get_fields(type_definition)
        if self.explain:
            return fields
        return [
            _without_explained(field) if field.arguments else field
            for field in fields
            if "explained" not in field.metadata
        ]

    def _visit_types(self) -> None:
        """Collect the facts of fields, and remove the default null of arguments and input fields.

        Strawberry copies this default from the Python functions and classes, and the SDL would show
        it as ``= null``.
        """
        for owner in core_schema(self).type_map.values():
            if owner.name.startswith("__"):
                continue
            if isinstance(owner, GraphQLInputObjectType):
                _remove_nulls(owner.fields)
            elif isinstance(owner, GraphQLObjectType | GraphQLInterfaceType):
                self.facts.add(owner)
                for field in owner.fields.values():
                    if field.args:
                        _remove_nulls(field.args)

    def as_str(self) -> str:
        """Return the SDL with the schema's description, and with ``@semanticNonNull``.

        Strawberry omits the description.
        """
        mark_semantic_non_null(core_schema(self))
        return f"{print_schema_definition(core_schema(self))}\n\n{super().as_str()}"

    def execute(
        self,
        query: str | None,
        variable_values: dict[str, Any] | None = None,
        context_value: Any | None = None,
        root_value: Any | None = None,
        operation_name: str | None = None,
        allowed_operation_types: Iterable[OperationType] | None = None,
        operation_extensions: dict[str, Any] | None = None,
    ) -> Coroutine[Any, Any, ExecutionResult]:
        """Execute an operation.

        The errors in the result are in the form that the client may see.
        """
        execution = _Execution(self, context_value, root_value, operation_extensions or {})
        allowed = OperationType if allowed_operation_types is None else allowed_operation_types
        executing = execution.executed(query or "", operation_name, variable_values or {}, allowed)
        return execution.result(executing)

    async def listen(
        self,
        query: str,
        variables: Mapping[str, Any] | None,
        name: str | None,
        *,
        context: Callable[[], Context],
        seconds: float,
    ) -> AsyncGenerator[EventResult, None]:
        """Return an iterator of a subscription's results, one for each event.

        If the execution for an event takes longer than ``seconds``, the event's result has an
        error. ``context`` creates a new context for each event. Raises RefusedSubscriptionError if
        the subscription cannot begin. The iterator raises the exceptions of the resolver's events.
        """
        begun = context()
        if self.documents.known(query) is None:
            await begun.pace.turn()
        try:
            operation, values = self._subscription(query, variables or {}, name)
        except GraphQLError as error:
            raise self._refused([error]) from None
        events = await operation.compiled.source(values, context_value=begun)
        if isinstance(events, CoreResult):
            log_faults(events.errors or [], self.host.known_errors)
            raise self._refused(events.errors or [])
        return self._results(operation, values, cast("Events", events), context, seconds)

    def _subscription(
        self, text: str, variables: Mapping[str, Any], name: str | None
    ) -> tuple[CheckedOperation, VariableValues]:
        """Return the operation and its coerced variables.

        Raises GraphQLError or RefusedSubscriptionError if the subscription cannot begin.
        """
        checked = self.documents.checked(text)
        operation = checked.operation(name)
        errors = checked.errors or faults_of_variables(variables)
        values = errors or operation.coerced(variables)
        if isinstance(values, list):
            raise self._refused(values)
        if operation.kind is not OperationType.SUBSCRIPTION:
            raise GraphQLError(
                "Only subscriptions are served here: send queries and mutations by POST."
            )
        with charged():
            cost = operation.costs.cost(values.coerced)
        if fault := cost.fault(self.host.limits):
            raise GraphQLError(fault, original_error=self.host.too_costly(fault))
        if cost.usual_requests > MAX_EVENT_REQUESTS:
            sentence = (
                f"Each event would take about {cost.usual_requests:,.0f} requests to DynamoDB; the "
                f"maximum is {MAX_EVENT_REQUESTS}: select lists in a separate query."
            )
            raise GraphQLError(sentence, original_error=self.host.too_costly(sentence))
        return operation, values

    async def _results(
        self,
        operation: CheckedOperation,
        values: VariableValues,
        events: Events,
        context: Callable[[], Context],
        seconds: float,
    ) -> AsyncGenerator[EventResult, None]:
        async with aclosing(events):
            async for event in events:
                execution = _Execution(self, context(), event, {})
                # A change wakes all its subscriptions at once. Each result begins in its own turn.
                await execution.turn()
                with self.host.deadline(seconds):
                    cost = operation.costs.cost(values.coerced)
                    found = await execution.result(execution.run(operation, values, cost))
                yield EventResult(event.cursor, found)

    def client_errors(self, errors: list[GraphQLError]) -> list[GraphQLError]:
        """Return errors in the form that the client may see."""
        return client_errors(errors, self.host.known_errors, introspection=self._introspection)

    def _refused(self, errors: list[GraphQLError]) -> RefusedSubscriptionError:
        return RefusedSubscriptionError(self.client_errors(errors))


def _remove_nulls(given: Mapping[str, GraphQLArgument] | Mapping[str, GraphQLInputField]) -> None:
    for one in given.values():
        if one.default_value is None:
            one.default_value = Undefined


def _without_explained(field: StrawberryField) -> StrawberryField:
    """Return a field without its explained arguments."""
    arguments = [one for one in field.arguments if "explained" not in one.metadata]
    if len(arguments) < len(field.arguments):
        field = copy(field)
        field.arguments = arguments
    return field


class _Execution:
    """One execution of an operation: of a request, or for an event of a subscription."""

    def __init__(
        self,
        schema: ExecutableSchema,
        context: Context | None,
        root_value: Any,
        extensions: Mapping[str, Any],
    ) -> None:
        self._schema = schema
        self._host = schema.host
        self._context = context
        self._root_value = root_value
        self._extensions = extensions
        self._operation: CheckedOperation | None = None
        self._cost: Cost | None = None
        self._account: Account | None = None
        self._answer: AnswerSize | None = None

    async def result(self, executing: Coroutine[Any, Any, CoreResult]) -> ExecutionResult:
        """Await the execution, log bugs of the server, and return the result."""
        try:
            found = await executing
        except GraphQLError as error:
            found = CoreResult(None, [error])
        except InvalidOperationTypeError:
            raise
        except Exception as error:  # noqa: BLE001 - this execution fails, the server continues
            found = CoreResult(None, [GraphQLError(str(error), original_error=error)])
        errors = found.errors
        if errors:
            log_faults(errors, self._host.known_errors)
            errors = self._schema.client_errors(errors)
        return OperationResult(found.data, errors, self._shown_cost(), self._operation)

    async def executed(
        self,
        text: str,
        name: str | None,
        variables: Mapping[str, Any],
        allowed: Iterable[OperationType],
    ) -> CoreResult:
        """Execute a query or a mutation of a request."""
        documents = self._schema.documents
        checked = documents.known(text)
        if checked is None:
            await self.turn()
            checked = documents.checked(text)
        operation = self._operation = checked.operation(name)
        kind = operation.kind
        if kind not in allowed:
            raise InvalidOperationTypeError(kind)
        if kind is OperationType.SUBSCRIPTION:
            if documents.schema.subscription_type is None:
                raise GraphQLError("The schema has no subscriptions.")
            raise GraphQLError(
                "A subscription has many results: send it by WebSocket with the protocol "
                "graphql-transport-ws, or by POST with 'Accept: text/event-stream'."
            )
        with charged():
            errors = checked.errors or faults_of_variables(variables)
            values = errors or operation.coerced(variables)
            if isinstance(values, list):
                return CoreResult(None, values)
            cost = self._cost = operation.costs.cost(values.coerced)
            if fault := cost.fault(self._host.limits):
                raise GraphQLError(fault, original_error=self._host.too_costly(fault))
        if operation.compiled.selection(values, compiles=False) is None:
            await self.turn()
            with charged():
                operation.compiled.selection(values)
        return await self.run(operation, values, cost)

    async def run(
        self, operation: CheckedOperation, values: VariableValues, cost: Cost
    ) -> CoreResult:
        """Execute an operation within the limits of its predicted cost."""
        host, context = self._host, self._context
        self._answer = AnswerSize(
            cost.values,
            MAX_RESPONSE,
            host.too_costly,
            paced=cost.usual_values > PACED_VALUES,
            turn=None if context is None else context.pace.turn,
        )
        reads, rcu = cost.limit()
        with host.account(most_reads=reads, most_rcu=rcu) as self._account:
            return await operation.compiled.execute(
                values,
                root_value=self._root_value,
                context_value=context,
                operation_extensions=self._extensions,
                answer=self._answer,
            )

    async def turn(self) -> None:
        """Wait for a turn of the event loop, in which no other request begins such work.

        Checking, compiling or first executing an operation takes some milliseconds. If several
        requests did so in one turn, all other requests would wait for all of them.
        """
        if self._context is not None:
            await self._context.pace.turn()

    def _shown_cost(self) -> dict[str, Any]:
        """Return ``extensions.cost`` if the request wants it and its user may see it."""
        if self._extensions.get("cost") is not True or self._cost is None:
            return {}
        if self._context is None or self._operation is None:
            return {}
        if not self._host.sees_costs(self._context, impersonal=self._operation.impersonal):
            return {}
        actual: dict[str, float] = {"requests": 0, "rcu": 0.0, "wcu": 0.0, "values": 0}
        if self._account is not None and self._answer is not None:  # the operation was executed
            actual |= {name: getattr(self._account, name) for name in ("requests", "rcu", "wcu")}
            actual["values"] = self._answer.values
        return {"cost": {**self._cost.rounded(), "actual": actual}}
