"""An operation of a validated document, executed as graphql-core's ``execute`` would."""

from collections.abc import AsyncIterable, Mapping
from functools import cached_property
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    create_source_event_stream,
)
from graphql.execution.collect_fields import FragmentDetails
from graphql.execution.values import VariableValues
from strawberry.execution.is_awaitable import optimized_is_awaitable

from schema.execution.compiled.arguments import NO_VARIABLES
from schema.execution.compiled.compiler import Compiler, NotCoveredError
from schema.execution.compiled.executor import LateExecutor
from schema.execution.compiled.selection import Selection
from schema.execution.compiled.variables import Variables


class CompiledOperation:
    """One operation of a document that its schema's validation has passed.

    The first ``plainly`` executions are graphql-core's.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        *,
        plainly: int = 0,
    ) -> None:
        self._schema = schema
        self.node = operation
        self._fragments = {
            one.name.value: FragmentDetails(one)
            for one in document.definitions
            if isinstance(one, FragmentDefinitionNode)
        }
        self._left = plainly

    @cached_property
    def _variables(self) -> Variables:
        return Variables(self._schema, self.node)

    @cached_property
    def selection(self) -> Selection | None:
        """Return what is executed; None for graphql-core's executor."""
        root_type = self._schema.query_type
        if self.node.operation is not OperationType.QUERY or root_type is None:
            return None
        try:
            return Compiler(self._schema, self._fragments, self.node).root(root_type)
        except NotCoveredError:
            return None

    def prepare(self) -> None:
        """Compile the operation now if the next ``execute`` would."""
        if self._left <= 0:
            self.selection  # noqa: B018 - it is kept

    def coerced(self, inputs: Mapping[str, Any]) -> VariableValues | list[GraphQLError]:
        """Return the coerced variables of a request, or their errors."""
        return self._variables.values(inputs)

    async def execute(
        self,
        values: VariableValues = NO_VARIABLES,
        *,
        root_value: Any = None,
        context_value: Any = None,
        operation_extensions: Mapping[str, Any] | None = None,
    ) -> ExecutionResult:
        """Return the result of the operation for variables that are ``coerced``."""
        executor = self._executor(values, root_value, context_value, operation_extensions)
        if self._left > 0 or self.selection is None:
            self._left -= 1
            result: Any = executor.execute_operation()
            whole: ExecutionResult = await result if optimized_is_awaitable(result) else result
            return whole
        return await self._executed(executor, self.selection)

    async def source(
        self, values: VariableValues, *, context_value: Any = None
    ) -> AsyncIterable[Any] | ExecutionResult:
        """Return the events of a subscription; each is a root value for ``execute``.

        A result has the errors on account of which there are none.
        """
        found: Any = create_source_event_stream(self._executor(values, None, context_value, None))
        events: AsyncIterable[Any] | ExecutionResult = (
            await found if optimized_is_awaitable(found) else found
        )
        return events

    def _executor(
        self,
        values: VariableValues,
        root_value: Any,
        context_value: Any,
        operation_extensions: Mapping[str, Any] | None,
    ) -> LateExecutor:
        return LateExecutor(
            self._schema,
            self._fragments,
            self.node,
            root_value=root_value,
            context_value=context_value,
            variable_values=values,
            operation_extensions=operation_extensions,
        )

    @staticmethod
    async def _executed(executor: LateExecutor, selection: Selection) -> ExecutionResult:
        try:
            data = selection(executor, executor.root_value, None)
            if type(data) is not dict:
                data = await data
        except GraphQLError as error:
            executor.collected_errors.add(error, None)
            data = None
        return ExecutionResult(data, executor.errors)
