"""Execution of one operation: its document, its limits, its cost, its result and its errors."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from graphql import GraphQLError
from graphql.execution import ExecutionResult as CoreResult
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from dal.account import Account, opened
from resolvers.request.authorization import is_staff
from schema.execution.cost import Cost, QueryTooCostlyError
from schema.execution.documents import CheckedDocument, DocumentCache, Operation
from schema.execution.errors import log_faults
from schema.execution.measure import faults_of_variables
from schema.execution.processor_time import charged

PACED_VALUES = 2_000
"""An answer of more gives others turns of the event loop while it is made."""


@dataclass
class SizedResult(ExecutionResult):
    """A result, and how many values it was expected to hold; None where nothing was predicted.

    ``operation`` is the requested operation, None if the document lacks it.
    """

    values: float | None = None
    operation: Operation | None = None


class Execution:
    """One request for an operation; it is executed once."""

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
        self._operation: Operation | None = None
        self._cost: Cost | None = None
        self._account = Account()

    async def result(
        self, text: str, name: str | None, allowed: Iterable[OperationType]
    ) -> ExecutionResult:
        """Return the result of an operation; errors are logged, and not yet as clients see them."""
        try:
            found = await self._executed(text, name, allowed)
        except GraphQLError as error:
            found = CoreResult(None, [error])
        except InvalidOperationTypeError:
            raise
        except Exception as error:  # noqa: BLE001 - one answer of many: the server goes on
            found = CoreResult(None, [GraphQLError(str(error), original_error=error)])
        if found.errors:
            log_faults(found.errors)
        values = None if self._cost is None else self._cost.values
        return SizedResult(found.data, found.errors, self._told_cost(), values, self._operation)

    async def _executed(
        self, text: str, name: str | None, allowed: Iterable[OperationType]
    ) -> CoreResult:
        checked = self._documents.checked(text)
        operation = self._operation = chosen(checked, name)
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
            errors = self._too_costly(operation, values.coerced)
            if errors:
                return CoreResult(None, errors)
            operation.compiled.prepare()
        with opened() as self._account:
            return await operation.compiled.execute(
                values,
                root_value=self._root_value,
                context_value=self._context,
                operation_extensions=self._extensions,
            )

    def _too_costly(self, operation: Operation, variables: Mapping[str, Any]) -> list[GraphQLError]:
        """Predict the cost; pace a large operation, and return an error for a too costly one."""
        self._cost = operation.costs.cost(variables)
        try:
            self._cost.check()
        except QueryTooCostlyError as error:
            return [GraphQLError(str(error), original_error=error)]
        if self._cost.values > PACED_VALUES and self._context is not None:
            self._context.pace.slow_down()
        return []

    def _told_cost(self) -> dict[str, Any]:
        """Return ``extensions.cost`` if the request selects it and the viewer may see it."""
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


def chosen(checked: CheckedDocument, name: str | None) -> Operation:
    """Return the operation that a name chooses of a document."""
    if name is None and len(checked.operations) > 1:
        raise GraphQLError(
            "The document has several operations: say in operationName which one to run."
        )
    operation = checked.operation(name)
    if operation is None and name is None:
        raise GraphQLError("The document has no operation: write a query, or send another one.")
    if operation is None:
        raise GraphQLError(f"The document has no operation of the name {name!r}.")
    return operation
