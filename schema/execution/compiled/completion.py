"""Resolves and completes fields: gets a field's value, and converts the value to a result.

A field's value is an attribute of its object, or the return value of the field's function. If
possible, this module calls the function directly. Strawberry's resolver calls the same function,
but decides in every request how to call it. This module completes usual values in the same way as
graphql-core's ``complete_value``. graphql-core completes all other values: exceptions, null in
non-null fields, and values of an unusual class.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import MISSING
from functools import cached_property, partial
from keyword import iskeyword
from typing import Any, cast

from graphql import (
    GraphQLAbstractType,
    GraphQLField,
    GraphQLOutputType,
    GraphQLSchema,
    Undefined,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
)
from graphql.execution import Executor
from strawberry import Info
from strawberry.relay import GlobalID
from strawberry.schema.name_converter import NameConverter
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types import get_object_definition
from strawberry.types.base import StrawberryMaybe, StrawberryOptional
from strawberry.types.field import StrawberryField
from strawberry.types.lazy_type import LazyType

from schema.execution.compiled.answer_size import LONG
from schema.execution.compiled.coercion import arguments_of, usual_value
from schema.execution.compiled.fields import (
    PLAIN,
    Complete,
    Field,
    PlainPath,
    Resolve,
    ResolveInfo,
    Slot,
    in_turns,
    of_awaited,
    path_of,
)
from schema.execution.strawberry_door import LazyInfo

Convert = Callable[[Any], Any]

_BACK = GraphQLCoreConverter.DEFINITION_BACKREF


def attribute_of(schema: GraphQLSchema, definition: GraphQLField) -> str | None:
    """Return the name of the attribute with a field's value.

    Return None if the value is not simply an attribute of the field's object.
    """
    field = _strawberry_field(schema, definition)
    if field is None or not field.is_basic_field or definition.args:
        return None
    if field.default_resolver is not getattr or not getattr(
        definition.resolve, "_is_default", False
    ):
        return None
    name = field.python_name
    return name if name.isascii() and name.isidentifier() and not iskeyword(name) else None


def _strawberry_field(schema: GraphQLSchema, definition: GraphQLField) -> StrawberryField | None:
    """Return the Strawberry field from which a GraphQLField was made.

    Return None if there is no such field, or if Strawberry must do more than read an attribute or
    call a function.
    """
    field = definition.extensions.get(_BACK)
    if type(field) is not StrawberryField or definition.resolve is None:
        return None
    made = schema.extensions[_BACK]
    usual = made.config.info_class is Info and not (field.extensions or made.exception_handlers)
    return field if usual else None


def by_graphql(field: Field) -> Resolve:
    """Return a function that calls the GraphQLField's own resolver."""
    arguments = arguments_of(field.definition, field.nodes[0])

    def resolve(executor: Executor[Any], field: Field, source: Any, path: PlainPath) -> Any:
        function = field.definition.resolve or executor.field_resolver
        info = executor.build_resolve_info(
            field.definition, field.nodes, field.parent_type, path_of(path)
        )
        return function(source, info, **arguments(executor.variable_values))

    return resolve


class FieldInfo(LazyInfo):
    """Strawberry's info of a compiled field.

    It creates graphql-core's info only when that is read, because most resolvers read only the
    context.
    """

    context: Any = None

    def __init__(self, executor: Executor[Any], field: Field, path: PlainPath) -> None:
        self.context = executor.context_value
        self._of = executor, field, path

    @cached_property
    def core_info(self) -> ResolveInfo:
        """The replacement of graphql-core's info."""
        return ResolveInfo(*self._of)

    @property
    def strawberry_field(self) -> StrawberryField:
        """The field's declaration."""
        declared: StrawberryField = self._of[1].definition.extensions[_BACK]
        return declared


def call_directly(schema: GraphQLSchema, compiled: Field) -> bool:
    """Let a compiled field call its resolver's function without Strawberry, and return True.

    If Strawberry must do more, change nothing and return False.
    """
    field = _strawberry_field(schema, compiled.definition)
    resolver = None if field is None else field.base_resolver
    if field is None or resolver is None or resolver.self_parameter:
        return False
    conversions = _conversions(schema, compiled.definition, field)
    if conversions is None:
        return False
    function = cast("Callable[..., Any]", resolver.wrapped_func)
    parents = (resolver.parent_parameter, resolver.root_parameter)
    objects = {parameter.name for parameter in parents if parameter is not None}
    info_name = resolver.info_parameter.name if resolver.info_parameter else None
    if not conversions:
        passed = [f"{name}=source" for name in objects]
        compiled.names = {"function": function}
        if info_name is not None:
            compiled.names |= {"info": FieldInfo, "field": compiled}
            info = "info{n}(executor, field{n}, (path, {key!r}, {typename!r}))"
            passed.append(f"{info_name}={info}")
        compiled.expression = f"function{{n}}({', '.join(passed)})"
        return True
    arguments = arguments_of(compiled.definition, compiled.nodes[0])

    def resolve(executor: Executor[Any], _: Field, source: Any, path: PlainPath) -> Any:
        keywords: dict[str, Any] = dict.fromkeys(objects, source)
        if info_name is not None:
            keywords[info_name] = FieldInfo(executor, compiled, path)
        for name, value in arguments(executor.variable_values).items():
            keyword, convert = conversions[name]
            keywords[keyword] = value if convert is None else convert(value)
        return function(**keywords)

    compiled.resolve = resolve
    return True


def _conversions(
    schema: GraphQLSchema, definition: GraphQLField, field: StrawberryField
) -> Mapping[str, tuple[str, Convert | None]] | None:
    """Map each argument's GraphQL name to its Python name, and to the conversion of its value.

    Return None if Strawberry must convert an argument.
    """
    conversions = {}
    names = schema.extensions[_BACK].config.name_converter
    for argument in field.arguments:
        name = names.from_argument(argument)
        declared = definition.args.get(name)
        if declared is None or declared.out_name not in {None, name}:
            return None
        try:
            convert = _conversion(names, declared.type, argument.type)
        except NotImplementedError:
            return None
        conversions[name] = argument.python_name, convert
    return conversions if conversions.keys() == definition.args.keys() else None


def _conversion(
    names: NameConverter, declared: Any, type_: Any, within: tuple[Any, ...] = ()
) -> Convert | None:
    """Return a function that converts coerced values like Strawberry's ``convert_argument``.

    Return None if Strawberry changes no value of the type. Raise NotImplementedError if Strawberry
    must convert the values. ``within`` has the input object types around the value.
    """
    declared = get_nullable_type(declared)
    while isinstance(type_, StrawberryOptional) and not isinstance(type_, StrawberryMaybe):
        type_ = type_.of_type
    if isinstance(type_, StrawberryMaybe | LazyType) or type_ is GlobalID or type_ in within:
        raise NotImplementedError
    if is_leaf_type(declared):
        return None
    if not is_list_type(declared):
        return _object_conversion(names, declared, type_, (*within, type_))
    item = _conversion(names, declared.of_type, type_.of_type, within)
    if item is None:
        # A copy, because the resolver may change the list, and other fields may use the same
        # variable.
        return lambda value: None if value is None else list(value)
    return lambda value: None if value is None else [item(one) for one in value]


def _object_conversion(
    names: NameConverter, declared: Any, type_: Any, within: tuple[Any, ...]
) -> Convert:
    definition = get_object_definition(type_, strict=True)
    if definition.from_input is not None:
        raise NotImplementedError
    fields: list[tuple[str, str, Convert | None]] = []
    missing: dict[str, Any] = {}
    for field in definition.fields:
        name, of = names.from_field(field), field.resolve_type(type_definition=definition)
        fields.append(
            (name, field.python_name, _conversion(names, declared.fields[name].type, of, within))
        )
        if field.default_value is MISSING and field.default_factory is MISSING:
            missing[field.python_name] = None

    def convert(value: Any) -> Any:
        if value is None:
            return None
        keywords = missing.copy()
        for name, keyword, inner in fields:
            if name in value:
                keywords[keyword] = value[name] if inner is None else inner(value[name])
        return type_(**keywords)

    return convert


class ForeignCompletion:
    """Completes values of any type with graphql-core's executor."""

    def __init__(self, field: Field, type_: GraphQLOutputType) -> None:
        self.field = field
        self.type = type_
        self._nullable = not is_non_null_type(type_)

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the result, or an awaitable of the result."""
        if value is None and self._nullable:
            return None
        field, where = self.field, path_of(path)
        info = executor.build_resolve_info(field.definition, field.nodes, field.parent_type, where)
        return executor.complete_value(self.type, field.details, info, where, value, None)


class LeafCompletion(ForeignCompletion):
    """Completes values of a scalar or an enum."""

    def __init__(self, field: Field, type_: GraphQLOutputType) -> None:
        super().__init__(field, type_)
        text = f"lambda value: {usual_value(type_, 'value')}"
        self._usual: Callable[[Any], bool] = eval(text)  # noqa: S307 - the text contains nothing from a client

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the result of a value. A value that needs no conversion is its own result."""
        if self._usual(value):
            if type(value) is str and len(value) > LONG:
                executor.answer.add_text(value)  # type: ignore[attr-defined] # LateExecutor
            return value
        return super().complete(executor, value, path)


class ObjectCompletion(ForeignCompletion):
    """Completes values of an object type."""

    def __init__(
        self,
        field: Field,
        type_: GraphQLOutputType,
        is_type_of: Callable[..., Any] | None,
    ) -> None:
        super().__init__(field, type_)
        self._is_type_of = is_type_of
        self._by_class = is_type_of is None or getattr(is_type_of, "by_class", False)
        self.usual: type = type(self)  # at the start, a class that no value has
        """The last class of which all values belong to the type."""
        self.selection: Callable[..., Any]
        """The function of the selection set. It calls ``complete`` for values of other classes."""

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the results of the object's selection set, or an awaitable of them."""
        if value is None or value is Undefined or isinstance(value, Exception):
            return super().complete(executor, value, path)
        if self._is_type_of is not None:
            belongs = self._is_type_of(value, ResolveInfo(executor, self.field, path))
            if belongs is not True:
                return super().complete(executor, value, path)
        if self._by_class:
            self.usual = type(value)
        return self.selection(executor, value, path, True)


class AbstractCompletion(ForeignCompletion):
    """Completes values of an interface or a union: finds each value's object type first."""

    def __init__(
        self, field: Field, type_: GraphQLOutputType, objects: Mapping[str, Complete]
    ) -> None:
        super().__init__(field, type_)
        self._abstract = cast("GraphQLAbstractType", get_nullable_type(type_))
        self._objects = objects

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the result, or an awaitable of the result."""
        if value is None or value is Undefined or isinstance(value, Exception):
            return super().complete(executor, value, path)
        info: Any = ResolveInfo(executor, self.field, path)
        resolve_type = self._abstract.resolve_type or executor.type_resolver
        name = resolve_type(value, info, self._abstract)
        if executor.is_awaitable(name):
            return self._of_awaited_type(executor, value, path, name)
        return self._of_type(executor, value, path, name)

    async def _of_awaited_type(
        self, executor: Executor[Any], value: Any, path: PlainPath, name: Awaitable[Any]
    ) -> Any:
        result = self._of_type(executor, value, path, await name)
        return await result if executor.is_awaitable(result) else result

    def _of_type(self, executor: Executor[Any], value: Any, path: PlainPath, name: Any) -> Any:
        if not isinstance(name, str) or name not in self._objects:
            info: Any = ResolveInfo(executor, self.field, path)
            details = self.field.details
            type_ = executor.ensure_valid_runtime_type(name, self._abstract, details, info, value)
            name = type_.name
        return self._objects[name](executor, value, path)


class ListCompletion(ForeignCompletion):
    """Completes lists and tuples, item by item."""

    def __init__(
        self, field: Field, type_: GraphQLOutputType, item_type: GraphQLOutputType, item: Complete
    ) -> None:
        super().__init__(field, type_)
        self._items = Slot(item_type, field.details)
        self._items.complete = item
        self._leaves = is_leaf_type(get_nullable_type(item_type))
        self._last_class: type = str

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the results of the items, or an awaitable of them."""
        if type(value) is not list and type(value) is not tuple:
            return super().complete(executor, value, path)
        if executor.answer.listed(value) and not self._leaves:  # type: ignore[attr-defined] # as above
            return in_turns(executor, value, partial(self._in_turn, executor, path))
        results: list[Any] = []
        awaited: dict[int, Any] = {}
        last_class, complete = self._last_class, self._items.complete
        try:
            for index, item in enumerate(value):
                if type(item) is last_class:
                    try:
                        result = complete(executor, item, (path, index, None))
                    except Exception as error:  # noqa: BLE001 - graphql-core catches any too
                        self._items.failed(executor, error, (path, index, None))
                        result = None
                else:
                    result = self._of_item(executor, item, (path, index, None))
                    last_class = self._last_class
                if type(result) not in PLAIN and executor.is_awaitable(result):
                    result = self._items.of_result(executor, result, (path, index, None))
                    awaited[index] = result
                results.append(result)
        except Exception:
            # The error makes the whole list null. Await its awaitables in the background, because
            # Python warns of a coroutine that is never awaited.
            left = value[len(results) + 1 :]
            unsettled = [*awaited.values()]
            unsettled += [item for item in left if executor.is_awaitable(item)]
            if unsettled:
                executor.settle_in_background(unsettled)
            raise
        return of_awaited(executor, results, awaited) if awaited else results

    def _in_turn(self, executor: Executor[Any], path: PlainPath, index: int, item: Any) -> Any:
        """Return the result of an item of a large result, or an awaitable of it."""
        where = path, index, None
        result = self._of_item(executor, item, where)
        if type(result) not in PLAIN and executor.is_awaitable(result):
            return self._items.of_result(executor, result, where)
        return result

    def _of_item(self, executor: Executor[Any], item: Any, path: PlainPath) -> Any:
        """Return the result of an item, or an awaitable of it.

        ``complete`` calls this method for awaitable items, and when the class of the items changes.
        """
        if executor.is_awaitable(item):
            return self._items.of_awaitable(executor, item, path)
        self._last_class = type(item)
        try:
            return self._items.complete(executor, item, path)
        except Exception as error:  # noqa: BLE001 - graphql-core catches any too
            return self._items.failed(executor, error, path)
