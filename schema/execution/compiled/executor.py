"""graphql-core's executor of one request, made when something is left to it.

A page that goes as pages usually go takes little of it, and to make it takes as long as to complete
ten objects.
"""

from collections.abc import Mapping
from typing import Any

from graphql import (
    GraphQLError,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    default_field_resolver,
    default_type_resolver,
)
from graphql.execution.collect_fields import FieldDetailsList, FragmentDetails
from graphql.execution.values import VariableValues
from graphql.pyutils import Path
from strawberry.execution.is_awaitable import optimized_is_awaitable
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from schema.execution.compiled.instrumentation import observed


class LateExecutor(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor; what is not set here is there when it is first asked for."""

    def __init__(
        self,
        schema: GraphQLSchema,
        fragments: Mapping[str, FragmentDetails],
        operation: OperationDefinitionNode,
        *,
        root_value: Any,
        context_value: Any,
        variable_values: VariableValues,
        operation_extensions: Mapping[str, Any] | None,
    ) -> None:
        self.schema = schema
        self.fragments = fragments  # type: ignore[assignment]
        self.operation = operation
        self.root_value = root_value
        self.context_value = context_value
        self.variable_values = variable_values
        self.is_awaitable = optimized_is_awaitable  # type: ignore[assignment]
        self.operation_extensions = operation_extensions
        self._late = True

    def execute_field(
        self,
        parent_type: GraphQLObjectType,
        source: Any,
        field_details_list: FieldDetailsList,
        path: Path,
        position_context: Any,
    ) -> Any:
        """Return the result of a field that is not compiled, or an awaitable of it."""
        result = super().execute_field(
            parent_type, source, field_details_list, path, position_context
        )
        if self.is_awaitable(result):
            return observed(parent_type.name, field_details_list[0].node.name.value, result)
        return result

    @property
    def errors(self) -> list[GraphQLError] | None:
        """The errors of the request; None where there are none."""
        return None if self._late else self.collected_errors.errors or None

    def __getattr__(self, name: str) -> Any:
        """Make the executor as a whole; it has no errors yet."""
        if not self.__dict__.get("_late", False):
            raise AttributeError(name)
        self._late = False
        super().__init__(
            self.schema,
            {one: of.definition for one, of in self.fragments.items()},
            self.fragments,
            self.root_value,
            self.context_value,
            self.operation,
            self.variable_values,
            default_field_resolver,
            default_type_resolver,
            default_field_resolver,
            is_awaitable=self.is_awaitable,
            operation_extensions=self.operation_extensions,
        )
        return getattr(self, name)
