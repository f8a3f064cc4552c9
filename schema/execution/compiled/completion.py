"""Resolving and completing the fields of a selection set.

A field's value is an attribute, a direct call of the function behind a Strawberry field, or the
result of the GraphQLField's own resolver. Strawberry's own resolver makes the same direct call, but
finds out how in every request. Usual values are completed here as graphql-core's
``complete_value`` does. It completes all others: null, an exception, a value of another type.
"""

from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any, cast

from graphql import (
    GraphQLField,
    GraphQLOutputType,
    GraphQLSchema,
    Undefined,
    get_named_type,
    is_leaf_type,
)
from graphql.execution import Executor
from strawberry.relay import GlobalID
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.base import StrawberryList, StrawberryMaybe, StrawberryOptional
from strawberry.types.field import StrawberryField

from schema.execution.compiled.coercion import Arguments, exact_class
from schema.execution.compiled.fields import (
    PLAIN,
    Completion,
    Field,
    PlainPath,
    Resolve,
    ResolveInfo,
    Selection,
    Slot,
    path_of,
)

_BACK = GraphQLCoreConverter.DEFINITION_BACKREF


def attribute_of(definition: GraphQLField) -> str | None:
    """Return the attribute that is the whole value of a field; None for any other field."""
    field = _strawberry_field(definition)
    if field is None or not field.is_basic_field or definition.args:
        return None
    if field.default_resolver is not getattr or not getattr(
        definition.resolve, "_is_default", False
    ):
        return None
    name = field.python_name
    return name if name.isascii() and name.isidentifier() and not iskeyword(name) else None


def resolve_by(schema: GraphQLSchema, field: Field) -> None:
    """Set how a field is resolved."""
    attribute = attribute_of(field.definition)
    if attribute is not None:
        field.expression = f"source.{attribute}"
    elif not _call_directly(schema, field):
        field.resolve = _by_graphql(field)


def _strawberry_field(definition: GraphQLField) -> StrawberryField | None:
    field = definition.extensions.get(_BACK)
    return field if type(field) is StrawberryField and definition.resolve is not None else None


def _by_graphql(field: Field) -> Resolve:
    """Return a call of the GraphQLField's own resolver."""
    arguments = Arguments(field.definition, field.nodes[0])

    def resolve(executor: Executor[Any], field: Field, source: Any, path: PlainPath) -> Any:
        function = field.definition.resolve or executor.field_resolver
        info = executor.build_resolve_info(
            field.definition, field.nodes, field.parent_type, path_of(path)
        )
        return function(source, info, **arguments.values(executor.variable_values))

    return resolve


def _call_directly(schema: GraphQLSchema, compiled: Field) -> bool:
    """Call the function behind a Strawberry field; return False where Strawberry does more."""
    field = _strawberry_field(compiled.definition)
    if field is None or field.base_resolver is None or field.extensions:
        return False
    resolver = field.base_resolver
    if schema.extensions[_BACK].exception_handlers or resolver.self_parameter:
        return False
    conversions = _conversions(schema, compiled.definition, field)
    if conversions is None:
        return False
    function = cast("Callable[..., Any]", resolver.wrapped_func)
    parents = (resolver.parent_parameter, resolver.root_parameter)
    objects = {parameter.name for parameter in parents if parameter is not None}
    info_name = resolver.info_parameter.name if resolver.info_parameter else None
    if info_name is None and not conversions:
        compiled.function = function
        compiled.expression = f"function({', '.join(f'{name}=source' for name in objects)})"
        return True
    arguments = Arguments(compiled.definition, compiled.nodes[0])
    info_class = schema.extensions[_BACK].config.info_class

    def resolve(executor: Executor[Any], compiled: Field, source: Any, path: PlainPath) -> Any:
        keywords: dict[str, Any] = dict.fromkeys(objects, source)
        for name, value in arguments.values(executor.variable_values).items():
            keyword, listed = conversions[name]
            keywords[keyword] = list(value) if listed and value is not None else value
        if info_name is not None:
            keywords[info_name] = info_class(
                _raw_info=ResolveInfo(executor, compiled, path),
                _field=field,
            )
        return function(**keywords)

    compiled.resolve = resolve
    return True


def _conversions(
    schema: GraphQLSchema, definition: GraphQLField, field: StrawberryField
) -> Mapping[str, tuple[str, bool]] | None:
    """Return the Python name of each argument, and whether it is a list.

    Every call gets its own list. None where Strawberry converts an argument to an object.
    """
    name_of = schema.extensions[_BACK].config.name_converter.from_argument
    conversions = {}
    for argument in field.arguments:
        name = name_of(argument)
        listed = _is_list(definition, name, argument)
        if listed is None:
            return None
        conversions[name] = argument.python_name, listed
    return conversions if conversions.keys() == definition.args.keys() else None


def _is_list(definition: GraphQLField, name: str, argument: StrawberryArgument) -> bool | None:
    """Return whether an argument is a list of leaves; None if it is neither that nor a leaf."""
    type_ = argument.type
    if isinstance(type_, StrawberryMaybe) or name not in definition.args:
        return None
    if isinstance(type_, StrawberryOptional):
        type_ = type_.of_type
    listed = isinstance(type_, StrawberryList)
    if isinstance(type_, StrawberryList):
        type_ = type_.of_type
        if isinstance(type_, StrawberryOptional):
            type_ = type_.of_type
    declared = definition.args[name]
    plain = is_leaf_type(get_named_type(declared.type)) and declared.out_name in {None, name}
    if not plain or isinstance(type_, StrawberryList | StrawberryMaybe) or type_ is GlobalID:
        return None
    return listed


class ForeignCompletion:
    """Completes values of any type by graphql-core's executor."""

    def __init__(self, field: Field, type_: GraphQLOutputType) -> None:
        self.field = field
        self.type = type_

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the result, or an awaitable of it."""
        field, where = self.field, path_of(path)
        info = executor.build_resolve_info(field.definition, field.nodes, field.parent_type, where)
        return executor.complete_value(self.type, field.details, info, where, value, None)


class LeafCompletion(ForeignCompletion):
    """Completes values of a scalar or an enum."""

    def __init__(self, field: Field, type_: GraphQLOutputType) -> None:
        super().__init__(field, type_)
        self._exact = exact_class(type_)

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the result."""
        if type(value) is self._exact:
            return value
        return super().complete(executor, value, path)


class ObjectCompletion(ForeignCompletion):
    """Completes values of an object type."""

    def __init__(
        self,
        field: Field,
        type_: GraphQLOutputType,
        is_type_of: Callable[..., Any] | None,
        selection: Selection,
    ) -> None:
        super().__init__(field, type_)
        self._is_type_of = is_type_of
        self._selection = selection
        self._last_class: type = type(self)  # no value has this class

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the results of the object's selection set, or an awaitable of them."""
        if type(value) is not self._last_class:
            if value is None or value is Undefined or isinstance(value, Exception):
                return super().complete(executor, value, path)
            self._last_class = type(value)
        if self._is_type_of is not None:
            belongs = self._is_type_of(value, ResolveInfo(executor, self.field, path))
            if belongs is not True:
                return super().complete(executor, value, path)
        return self._selection(executor, value, path)


class ListCompletion(ForeignCompletion):
    """Completes lists and tuples, item by item."""

    def __init__(
        self, field: Field, type_: GraphQLOutputType, item_type: GraphQLOutputType, item: Completion
    ) -> None:
        super().__init__(field, type_)
        self._items = Slot(item_type, field.details)
        self._items.completion = item
        self._last_class: type = str

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the results of the items, or an awaitable of them."""
        if type(value) is not list and type(value) is not tuple:
            return super().complete(executor, value, path)
        results: list[Any] = []
        awaited: list[int] = []
        last_class, complete = self._last_class, self._items.completion.complete
        try:
            for index, item in enumerate(value):
                if type(item) is last_class:
                    try:
                        result = complete(executor, item, (path, index, None))
                    except Exception as error:  # noqa: BLE001 - as graphql-core: any that it raises
                        self._items.failed(executor, error, (path, index, None))
                        result = None
                else:
                    result = self._of_item(executor, item, (path, index, None))
                    last_class = self._last_class
                if type(result) not in PLAIN and executor.is_awaitable(result):
                    result = self._items.of_result(executor, result, (path, index, None))
                    awaited.append(index)
                results.append(result)
        except Exception:
            # The error nulls the list: awaitables that were begun end in the background.
            left = value[len(results) + 1 :]
            unsettled = [results[index] for index in awaited]
            unsettled += [item for item in left if executor.is_awaitable(item)]
            if unsettled:
                executor.settle_in_background(unsettled)
            raise
        return _of_awaited(executor, results, awaited) if awaited else results

    def _of_item(self, executor: Executor[Any], item: Any, path: PlainPath) -> Any:
        """Return the result of an item of another class than the last, or an awaitable of it."""
        if executor.is_awaitable(item):
            return self._items.of_awaitable(executor, item, path)
        self._last_class = type(item)
        try:
            return self._items.completion.complete(executor, item, path)
        except Exception as error:  # noqa: BLE001 - as above
            return self._items.failed(executor, error, path)


async def _of_awaited(executor: Executor[Any], results: list[Any], indices: list[int]) -> list[Any]:
    """Return all results; those at ``indices`` are awaited together."""
    if len(indices) == 1:
        results[indices[0]] = await results[indices[0]]
        return results
    waiting = [results[index] for index in indices]
    for index, result in zip(indices, await executor.gather_async_work(waiting), strict=True):
        results[index] = result
    return results
