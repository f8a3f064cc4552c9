"""An operation of a validated document, compiled, then executed as graphql-core's ``execute`` does.

The compiler leaves to graphql-core whatever it does not cover.
"""

from collections.abc import AsyncIterable, Iterable, Mapping
from functools import cached_property
from inspect import iscoroutinefunction
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    TypeNameMetaFieldDef,
    create_source_event_stream,
    default_field_resolver,
    default_type_resolver,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
    is_object_type,
)
from graphql.execution.collect_fields import (
    FieldDetailsList,
    FragmentDetails,
    GroupedFieldSet,
    collect_fields,
    collect_subfields,
)
from graphql.execution.values import VariableValues
from graphql.pyutils import Path
from strawberry.execution.is_awaitable import optimized_is_awaitable
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from schema.execution.compiled.coercion import NO_VARIABLES, Leaf, Variables, has_variables
from schema.execution.compiled.completion import (
    ForeignCompletion,
    LeafCompletion,
    ListCompletion,
    ObjectCompletion,
    attribute_of,
    resolve_by,
)
from schema.execution.compiled.fields import (
    Completion,
    Field,
    ForeignField,
    Selected,
    Selection,
    observed,
    selection_of,
)


class CompiledOperation:
    """One operation of a document that its schema's validation has passed.

    graphql-core executes it the first ``plainly`` times.
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
            definition.name.value: FragmentDetails(definition)
            for definition in document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        self._left = plainly

    @cached_property
    def _variables(self) -> Variables:
        return Variables(self._schema, self.node)

    @cached_property
    def selection(self) -> Selection | None:
        """The compiled function; None for graphql-core's executor."""
        root_type = self._schema.query_type
        if self.node.operation is not OperationType.QUERY or root_type is None:
            return None
        try:
            return _Compiler(self._schema, self._fragments, self.node).root(root_type)
        except NotCoveredError:
            return None

    def prepare(self) -> None:
        """Compile the operation now if the next ``execute`` would."""
        if self._left <= 0:
            self.selection  # noqa: B018 - the property is cached

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
        """Return the result of the operation for ``coerced`` variables."""
        executor = self._executor(values, root_value, context_value, operation_extensions)
        if self._left > 0 or self.selection is None:
            self._left -= 1
            result: Any = executor.execute_operation()
            whole: ExecutionResult = await result if optimized_is_awaitable(result) else result
            return whole
        try:
            data = self.selection(executor, root_value, None)
            if type(data) is not dict:
                data = await data
        except GraphQLError as error:
            executor.collected_errors.add(error, None)
            data = None
        return ExecutionResult(data, executor.errors)

    async def source(
        self, values: VariableValues, *, context_value: Any = None
    ) -> AsyncIterable[Any] | ExecutionResult:
        """Return the events of a subscription; each is a root value for ``execute``.

        A result has the errors of a subscription that cannot begin.
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
    ) -> "_LateExecutor":
        return _LateExecutor(
            self._schema,
            self._fragments,
            self.node,
            root_value=root_value,
            context_value=context_value,
            variable_values=values,
            operation_extensions=operation_extensions,
        )


class _LateExecutor(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor, initialised when an attribute is read that is not set here.

    Most pages need few of its attributes, and initialising it takes as long as completing ten
    objects.
    """

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
        """The errors of the request; None without errors."""
        return None if self._late else self.collected_errors.errors or None

    def __getattr__(self, name: str) -> Any:
        """Initialise the whole executor."""
        if not self.__dict__.get("_late", False):
            raise AttributeError(name)
        self._late = False
        super().__init__(
            self.schema,
            {name: details.definition for name, details in self.fragments.items()},
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


class NotCoveredError(Exception):
    """The fields of a selection set depend on the request's variables."""


class _Compiler:
    """Compiles the selection sets of one operation."""

    def __init__(
        self,
        schema: GraphQLSchema,
        fragments: Mapping[str, FragmentDetails],
        operation: OperationDefinitionNode,
    ) -> None:
        self._schema = schema
        self._fragments = dict(fragments)
        self._operation = operation

    def root(self, root_type: GraphQLObjectType) -> Selection:
        """Return the operation's function, or raise NotCoveredError."""
        self._check([self._operation.selection_set])
        collected = collect_fields(
            self._schema, self._fragments, NO_VARIABLES, root_type, self._operation
        )
        return self._selection(root_type, collected.grouped_field_set)

    def _below(self, object_type: GraphQLObjectType, details: FieldDetailsList) -> Selection:
        self._check([each.node.selection_set for each in details if each.node.selection_set])
        collected = collect_subfields(
            self._schema, self._fragments, NO_VARIABLES, self._operation, object_type, details
        )
        return self._selection(object_type, collected.grouped_field_set)

    def _check(self, selections: Iterable[SelectionSetNode]) -> None:
        """Raise NotCoveredError if a variable in a directive decides which fields are selected."""
        waiting = list(selections)
        seen = set()
        while waiting:
            for node in waiting.pop().selections:
                if any(map(has_variables, node.directives or ())):
                    raise NotCoveredError
                if isinstance(node, InlineFragmentNode):
                    waiting.append(node.selection_set)
                elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
                    seen.add(node.name.value)
                    waiting.append(self._fragments[node.name.value].definition.selection_set)

    def _selection(self, object_type: GraphQLObjectType, grouped: GroupedFieldSet) -> Selection:
        selected = [self._selected(object_type, key, of) for key, of in grouped.items()]
        return selection_of(object_type, grouped, selected)

    def _selected(
        self, object_type: GraphQLObjectType, key: str, details: FieldDetailsList
    ) -> Selected:
        name = details[0].node.name.value
        definition = self._schema.get_field(object_type, name)
        if definition is TypeNameMetaFieldDef:
            return object_type.name
        if definition is None or name.startswith("__"):
            return ForeignField(object_type, key, details)
        attribute = attribute_of(definition)
        if attribute is not None and is_leaf_type(get_nullable_type(definition.type)):
            return Leaf(attribute, definition.type)
        field = Field(object_type, definition, key, details)
        resolve_by(self._schema, field)
        field.completion = self._completion(field, definition.type)
        return field

    def _completion(self, field: Field, type_: GraphQLOutputType) -> Completion:
        nullable: Any = get_nullable_type(type_)
        if is_leaf_type(nullable):
            return LeafCompletion(field, type_)
        if is_list_type(nullable):
            item = self._completion(field, nullable.of_type)
            return ListCompletion(field, type_, nullable.of_type, item)
        if is_object_type(nullable) and not iscoroutinefunction(nullable.is_type_of):
            try:
                selection = self._below(nullable, field.details)
            except NotCoveredError:
                return ForeignCompletion(field, type_)
            return ObjectCompletion(field, type_, nullable.is_type_of, selection)
        return ForeignCompletion(field, type_)
