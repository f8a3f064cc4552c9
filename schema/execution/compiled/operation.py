"""Compiles the operations of a validated document, and executes them.

The results are the same as those of graphql-core. graphql-core itself executes the operations that
the compiler does not support.
"""

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any

from graphql import (
    DirectiveNode,
    DocumentNode,
    ExecutionResult,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLLeafType,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLResolveInfo,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    TypeNameMetaFieldDef,
    create_source_event_stream,
    default_field_resolver,
    default_type_resolver,
    get_nullable_type,
    is_abstract_type,
    is_leaf_type,
    is_list_type,
    is_object_type,
    located_error,
)
from graphql.execution import Executor, get_variable_values
from graphql.execution.collect_fields import (
    FieldDetailsList,
    FragmentDetails,
    GroupedFieldSet,
    collect_fields,
    collect_subfields,
)
from graphql.execution.get_variable_signature import get_variable_signature
from graphql.execution.values import VariableValues
from graphql.pyutils import Path
from strawberry.execution.is_awaitable import optimized_is_awaitable
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from schema.execution.compiled.answer_size import LONG, AnswerSize
from schema.execution.compiled.coercion import (
    NO_VARIABLES,
    Leaf,
    nodes_of,
    variables_in,
    variables_of,
)
from schema.execution.compiled.completion import (
    AbstractCompletion,
    ForeignCompletion,
    LeafCompletion,
    ListCompletion,
    ObjectCompletion,
    attribute_of,
    by_graphql,
    call_directly,
)
from schema.execution.compiled.fields import (
    Complete,
    Field,
    PlainPath,
    Selected,
    Selection,
    bytes_of_key,
    in_turns,
    observed,
    path_of,
    selection_of,
    serially,
)

_MAX_ERRORS = 50
"""Maximum number of errors in the variables of one request: graphql-core's default."""

MAX_CONDITIONS = 4
"""Maximum number of an operation's variables in ``@skip`` and ``@include``. An operation is
compiled for each combination of their values, so operations with more such variables are not
compiled."""


class CompiledOperation:
    """One operation of a valid document.

    graphql-core executes the operation ``plainly`` times. For later executions, the operation is
    compiled to Python functions, if the compiler supports it. If ``plainly`` is infinite, the
    operation is never compiled.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        *,
        plainly: float = 0,
    ) -> None:
        self._schema = schema
        self.node = operation
        self._root_type = schema.get_root_type(operation.operation)
        self._fragments = {
            definition.name.value: _details(schema, definition)
            for definition in document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        self._left = plainly
        self._variables = variables_of(schema, operation.variable_definitions or ())
        self._conditions = self._of_operation(document)
        self._selections: dict[tuple[Any, ...], Selection] = {}

    def _of_operation(self, document: DocumentNode) -> Sequence[str] | None:
        """Return the names of the variables that decide which fields are selected.

        Return None if the operation cannot be compiled. If fragments have arguments, these can also
        decide which fields are selected, so documents with such fragments are not compiled.
        """
        if self.node.operation is OperationType.SUBSCRIPTION:
            return None
        if any(details.variable_signatures for details in self._fragments.values()):
            return None
        names = conditions_in(document)
        if names is None:
            return None
        # ``names`` may include variables of the document's other operations: leave them out.
        declared = (one.variable.name.value for one in self.node.variable_definitions or ())
        conditions = [name for name in declared if name in names]
        return conditions if len(conditions) <= MAX_CONDITIONS else None

    def selection(self, values: VariableValues, *, compiles: bool = True) -> Selection | None:
        """Return the function that the next call of ``execute`` uses; compile it if necessary.

        Return None if graphql-core will execute the operation. Without ``compiles``, also return
        None if the function is not compiled.
        """
        if self._left > 0 or self._conditions is None or self._root_type is None:
            return None
        of = tuple([values.coerced.get(name) for name in self._conditions])
        if None in of:  # a variable is missing or null: graphql-core raises the error
            return None
        found = self._selections.get(of)
        if found is None and compiles:
            compiler = _Compiler(self._schema, self._fragments, self.node, values)
            found = self._selections[of] = compiler.root(self._root_type)
        return found

    def coerced(self, inputs: Mapping[str, Any]) -> VariableValues | list[GraphQLError]:
        """Return the coerced variables of a request, or their errors."""
        return self._variables(inputs) or get_variable_values(
            self._schema,
            self.node.variable_definitions or (),
            dict(inputs),
            max_errors=_MAX_ERRORS,
        )

    async def execute(
        self,
        values: VariableValues = NO_VARIABLES,
        *,
        root_value: Any = None,
        context_value: Any = None,
        operation_extensions: Mapping[str, Any] | None = None,
        answer: AnswerSize | None = None,
    ) -> ExecutionResult:
        """Execute the operation with the variables from ``coerced``, and return the result.

        ``answer`` counts the result, and ends the operation if the result is too large.
        """
        executor = _LateExecutor(
            self._schema,
            self._fragments,
            self.node,
            values,
            root_value,
            context_value,
            operation_extensions,
            answer,
        )
        selection = self.selection(values)
        if selection is None:
            self._left -= 1
            result: Any = executor.execute_operation()
            whole: ExecutionResult = await result if optimized_is_awaitable(result) else result
            return whole
        try:
            data = selection(executor, root_value, None)
            if type(data) is not dict:
                data = await data
        except GraphQLError as error:
            executor.collected_errors.add(error, None)
            data = None
        return ExecutionResult(data, executor.errors)

    async def source(
        self, values: VariableValues, *, context_value: Any = None
    ) -> AsyncIterable[Any] | ExecutionResult:
        """Return the events of a subscription. Each event is a root value for ``execute``.

        If the subscription cannot begin, return an ExecutionResult with the errors.
        """
        executor = _LateExecutor(
            self._schema, self._fragments, self.node, values, None, context_value, None
        )
        found: Any = create_source_event_stream(executor)
        events: AsyncIterable[Any] | ExecutionResult = (
            await found if optimized_is_awaitable(found) else found
        )
        return events


def conditions_in(document: DocumentNode) -> set[str] | None:
    """Return the names of the variables in a document's ``@skip`` and ``@include``.

    Return None if another directive has a variable.
    """
    names: set[str] = set()
    for node in nodes_of(document):
        if isinstance(node, DirectiveNode) and (variables := variables_in(node)):
            if node.name.value not in {"skip", "include"}:
                return None
            names |= variables
    return names


def _details(schema: GraphQLSchema, fragment: FragmentDefinitionNode) -> FragmentDetails:
    """Return the details of a fragment that graphql-core's executor needs."""
    signatures: dict[str, Any] = {
        node.variable.name.value: get_variable_signature(schema, node)
        for node in fragment.variable_definitions or ()
    }
    return FragmentDetails(fragment, signatures or None)


class _LateExecutor(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor, with a short ``__init__``.

    Most requests need only the attributes that this ``__init__`` sets. When code reads another
    attribute, the whole executor is initialised, which takes as long as completing ten objects.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        fragments: dict[str, FragmentDetails],
        operation: OperationDefinitionNode,
        values: VariableValues,
        root_value: Any,
        context_value: Any,
        operation_extensions: Mapping[str, Any] | None,
        answer: AnswerSize | None = None,
    ) -> None:
        self.answer = answer or AnswerSize()
        self.schema = schema
        self.fragments = fragments
        self.operation = operation
        self.variable_values = values
        self.root_value = root_value
        self.context_value = context_value
        self.operation_extensions = operation_extensions
        self.is_awaitable = optimized_is_awaitable  # type: ignore[assignment]
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
        self.answer.add(1, bytes_of_key(str(path.key)))
        result = super().execute_field(
            parent_type, source, field_details_list, path, position_context
        )
        if self.is_awaitable(result):
            return observed(parent_type.name, field_details_list[0].node.name.value, result)
        return result

    def complete_iterable_value(
        self,
        item_type: GraphQLOutputType,
        field_details_list: FieldDetailsList,
        info: GraphQLResolveInfo[Any],
        path: Path,
        items: Iterable[Any],
        position_context: Any,
    ) -> Any:
        """Return the results of a list's items, or an awaitable of them."""
        if not isinstance(items, list | tuple):
            items = list(items)
        if not self.answer.listed(items) or is_leaf_type(get_nullable_type(item_type)):
            return super().complete_iterable_value(
                item_type, field_details_list, info, path, items, position_context
            )

        def of_item(index: int, item: Any) -> Any:
            rest = item_type, field_details_list, info, path.add_key(index, None), position_context
            if self.is_awaitable(item):
                return self.complete_awaitable_list_item_value(item, *rest)
            results: list[Any] = []
            self.complete_list_item_value(item, results, *rest)
            return results[0]

        return in_turns(self, items, of_item)

    def complete_leaf_value(self, return_type: GraphQLLeafType, result: Any) -> Any:  # type: ignore[override]
        """Return the converted value of a scalar or an enum."""
        value = super().complete_leaf_value(return_type, result)
        if type(value) is str and len(value) > LONG:
            self.answer.add_text(value)
        return value

    def handle_field_error(
        self,
        raw_error: Exception,
        return_type: GraphQLOutputType,
        field_details_list: FieldDetailsList,
        path: Path,
    ) -> None:
        """Record a field's error, or raise it if the field is non-null.

        An operation that costs too much ends: the error makes all its data null. But if the reads
        of a mutation's payload cost too much, the other data still shows what was written.
        """
        ends = self.answer.is_full or self.operation.operation is not OperationType.MUTATION
        if ends and isinstance(getattr(raw_error, "original_error", raw_error), self.answer.error):
            nodes = [details.node for details in field_details_list]
            raise located_error(raw_error, nodes, path.as_list())
        super().handle_field_error(raw_error, return_type, field_details_list, path)

    @property
    def errors(self) -> list[GraphQLError] | None:
        """The errors of the request; None without errors."""
        return None if self._late else self.collected_errors.errors or None

    def __getattr__(self, name: str) -> Any:
        """Initialise the whole executor, and return its attribute ``name``."""
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


class _Compiler:
    """Compiles the selection sets of one operation.

    ``values`` are the operation's variables, which decide what ``@skip`` and ``@include`` select.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        fragments: dict[str, FragmentDetails],
        operation: OperationDefinitionNode,
        values: VariableValues,
    ) -> None:
        self._schema = schema
        self._of = schema, fragments, values
        self._operation = operation

    def root(self, root_type: GraphQLObjectType) -> Selection:
        """Return the function of the operation's root."""
        grouped = collect_fields(*self._of, root_type, self._operation).grouped_field_set
        if self._operation.operation is OperationType.MUTATION:
            return serially([self._selection(root_type, {key: of}) for key, of in grouped.items()])
        return self._selection(root_type, grouped)

    def _selection(
        self,
        object_type: GraphQLObjectType,
        grouped: GroupedFieldSet,
        completion: ObjectCompletion | None = None,
    ) -> Selection:
        selected = [self._selected(object_type, key, of) for key, of in grouped.items()]
        return selection_of(object_type, grouped, selected, completion)

    def _selected(
        self, object_type: GraphQLObjectType, key: str, details: FieldDetailsList
    ) -> Selected:
        name = details[0].node.name.value
        definition = self._schema.get_field(object_type, name)
        if definition is TypeNameMetaFieldDef:
            return object_type.name
        if definition is None or name.startswith("__"):

            def execute(executor: Executor[Any], source: Any, parent: PlainPath | None) -> Any:
                path = path_of((parent, key, object_type.name))
                return executor.execute_field(object_type, source, details, path, None)

            return execute
        attribute = attribute_of(self._schema, definition)
        if attribute is not None and is_leaf_type(get_nullable_type(definition.type)):
            return Leaf(attribute, definition.type)
        field = Field(object_type, definition, key, details)
        if attribute is not None:
            field.expression = f"source.{attribute}"
        elif not call_directly(self._schema, field):
            field.resolve = by_graphql(field)
        field.complete = self._complete(field, definition.type)
        return field

    def _complete(self, field: Field, type_: GraphQLOutputType) -> Complete:
        nullable: Any = get_nullable_type(type_)
        if is_leaf_type(nullable):
            return LeafCompletion(field, type_).complete
        if is_list_type(nullable):
            item = self._complete(field, nullable.of_type)
            return ListCompletion(field, type_, nullable.of_type, item).complete
        if is_object_type(nullable) and not iscoroutinefunction(nullable.is_type_of):
            collected = collect_subfields(*self._of, self._operation, nullable, field.details)
            completion = ObjectCompletion(field, type_, nullable.is_type_of)
            if type_ is field.type:
                field.objects = completion
            completion.selection = self._selection(
                nullable, collected.grouped_field_set, completion
            )
            return completion.selection
        if is_abstract_type(nullable):
            possible = self._schema.get_possible_types(nullable)
            objects = {one.name: self._complete(field, one) for one in possible}
            return AbstractCompletion(field, type_, objects).complete
        return ForeignCompletion(field, type_).complete
