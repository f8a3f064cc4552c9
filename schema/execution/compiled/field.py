"""One field of a compiled selection set: it is resolved, and what it resolves to is completed.

Errors and awaitables go the way of graphql-core's ``Executor.execute_field``.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLField,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
)
from graphql.execution import Executor
from graphql.execution.collect_fields import FieldDetailsList
from graphql.pyutils import Path

from schema.execution.compiled.instrumentation import observed
from schema.execution.compiled.leaves import exact_class
from schema.execution.compiled.paths import PlainPath, path_of

Resolve = Callable[[Executor[Any], "Field", Any, PlainPath], Any]
"""Returns what a field of an object resolves to, or an awaitable of it."""

PLAIN: frozenset[type] = frozenset({dict, list, str, int, float, bool, type(None)})
"""Classes of results, none of which can be awaited."""


class Completion(Protocol):
    """Makes results of what fields of one type resolve to."""

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the result, or an awaitable of it; an exception is the field's error."""


class Slot:
    """Where values of one type are completed: a field, or the items of a list."""

    completion: Completion

    def __init__(self, type_: GraphQLOutputType, details: FieldDetailsList) -> None:
        self.type = type_
        self.details = details

    def failed(self, executor: Executor[Any], error: Exception, path: PlainPath) -> None:
        """Note an error of what may be null; raise it where there is no place for null."""
        executor.handle_field_error(error, self.type, self.details, path_of(path))

    async def of_awaitable(
        self, executor: Executor[Any], value: Awaitable[Any], path: PlainPath
    ) -> Any:
        """Return the result of what is awaited first."""
        try:
            result = self.completion.complete(executor, await value, path)
            if type(result) not in PLAIN and executor.is_awaitable(result):
                result = await result
        except Exception as error:  # noqa: BLE001 - as graphql-core: any that it raises
            return self.failed(executor, error, path)
        return result

    async def of_result(
        self, executor: Executor[Any], result: Awaitable[Any], path: PlainPath
    ) -> Any:
        """Return a result that has to be awaited."""
        try:
            return await result
        except Exception as error:  # noqa: BLE001 - as above
            return self.failed(executor, error, path)


class Field(Slot):
    """A field under its response key, with all of its nodes in the document."""

    resolve: Resolve
    expression: str | None = None
    """The Python expression of what it resolves to, of ``source`` and ``function``."""
    function: Callable[..., Any] | None = None

    def __init__(
        self,
        parent_type: GraphQLObjectType,
        field: GraphQLField,
        key: str,
        details: FieldDetailsList,
    ) -> None:
        super().__init__(field.type, details)
        self.parent_type = parent_type
        self.definition = field
        self.key = key
        self.nodes: list[FieldNode] = [one.node for one in details]
        self.name = self.nodes[0].name.value
        self.memo: dict[Any, Any] = {}
        exact = exact_class(field.type)
        self.exact = exact.__name__ if exact else None
        self._parent_name = parent_type.name
        self._settled: type = str

    def execute(self, executor: Executor[Any], source: Any, parent: PlainPath | None) -> Any:
        """Return the field's result for an object, or an awaitable of it."""
        path = (parent, self.key, self._parent_name)
        try:
            value = self.resolve(executor, self, source, path)
        except Exception as error:  # noqa: BLE001 - as graphql-core: whatever a resolver raises
            return self.failed(executor, error, path)
        return self.completed(executor, value, path)

    def completed(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the result of what the field resolves to, or an awaitable of it."""
        try:
            if type(value) is not self._settled:
                if executor.is_awaitable(value):
                    return self._observed(self.of_awaitable(executor, value, path))
                self._settled = type(value)
            result = self.completion.complete(executor, value, path)
        except Exception as error:  # noqa: BLE001 - as above
            return self.failed(executor, error, path)
        if type(result) not in PLAIN and executor.is_awaitable(result):
            return self._observed(self.of_result(executor, result, path))
        return result

    def _observed(self, result: Awaitable[Any]) -> Awaitable[Any]:
        return observed(self._parent_name, self.name, result)


class ForeignField:
    """A field that graphql-core's executor executes, with all that is below it."""

    def __init__(self, parent_type: GraphQLObjectType, key: str, details: FieldDetailsList) -> None:
        self.key = key
        self._parent_type = parent_type
        self._details = details

    def execute(self, executor: Executor[Any], source: Any, parent: PlainPath | None) -> Any:
        """Return the field's result for an object, or an awaitable of it."""
        path = path_of((parent, self.key, self._parent_type.name))
        return executor.execute_field(self._parent_type, source, self._details, path, None)


class ResolveInfo:
    """What graphql-core's GraphQLResolveInfo tells, found when it is asked for.

    ``memo`` stays with the compiled field: a resolver may keep there what follows from the document
    alone.
    """

    __slots__ = ("_executor", "_field", "_plain_path")

    def __init__(self, executor: Executor[Any], field: Field, path: PlainPath) -> None:
        self._executor = executor
        self._field = field
        self._plain_path = path

    @property
    def memo(self) -> dict[Any, Any]:
        """What was found out about the field before."""
        return self._field.memo

    @property
    def field_name(self) -> str:
        """The field's name in the schema."""
        return self._field.name

    @property
    def field_nodes(self) -> Sequence[FieldNode]:
        """The field's nodes in the document."""
        return self._field.nodes

    @property
    def return_type(self) -> GraphQLOutputType:
        """The field's type."""
        return self._field.type

    @property
    def parent_type(self) -> Any:
        """The object type that has the field."""
        return self._field.parent_type

    @property
    def path(self) -> Path:
        """Where the field stands in the response."""
        return path_of(self._plain_path)

    @property
    def fragments(self) -> dict[str, FragmentDefinitionNode]:
        """The document's fragments by name."""
        return self._executor.fragment_definitions

    @property
    def schema(self) -> GraphQLSchema:
        """The schema that is executed."""
        return self._executor.schema

    @property
    def variable_values(self) -> dict[str, Any]:
        """The operation's variables as Strawberry shows them: coerced."""
        return self._executor.variable_values.coerced

    @property
    def context(self) -> Any:
        """The context value of the request."""
        return self._executor.context_value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)  # operation, root_value, is_awaitable and the like
