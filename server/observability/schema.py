"""The schema as it is observed: how long operations take, and which errors they answer."""

from collections.abc import Coroutine, Iterable
from functools import partial
from typing import Any

from graphql import GraphQLError
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from schema.build import ExecutableSchema
from schema.execution import SizedResult
from server.observability.labels import OperationNames
from server.observability.observation import note_errors, observed_now


class ObservedSchema(ExecutableSchema):
    """Executes operations, and tells whoever observes the request."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._names = OperationNames()

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
        """Return the result of an operation, its errors as its client may see them."""
        executing = super().execute(
            query,
            variable_values,
            context_value,
            root_value,
            operation_name,
            allowed_operation_types,
            operation_extensions,
        )
        observation = observed_now()
        if observation is None:
            return executing
        return observation.operation(executing, partial(self._named, query or ""))

    def _named(self, text: str, result: ExecutionResult) -> tuple[str, str]:
        """Return the label of an operation, and its type; ``none`` where there was none to run."""
        operation = result.operation if isinstance(result, SizedResult) else None
        if operation is None:
            return "none", "none"
        name = operation.node.name
        trusted = self.documents.is_trusted(text)
        label = self._names.label(None if name is None else name.value, trusted=trusted)
        return label, operation.node.operation.value

    def _told(self, errors: list[GraphQLError]) -> list[GraphQLError]:
        told = super()._told(errors)
        note_errors(told)
        return told
