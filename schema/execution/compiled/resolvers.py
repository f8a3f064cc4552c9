"""How a field is resolved: by an attribute, by the function itself, or as graphql-core does.

Strawberry's own resolver makes the same call. It looks up how with every one.
"""

from collections.abc import Callable
from keyword import iskeyword
from typing import Any, cast

from graphql import (
    GraphQLField,
    GraphQLSchema,
    get_named_type,
    is_leaf_type,
)
from graphql.execution import Executor
from strawberry.relay import GlobalID
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.base import StrawberryList, StrawberryMaybe, StrawberryOptional
from strawberry.types.field import StrawberryField
from strawberry.types.fields.resolver import StrawberryResolver

from schema.execution.compiled.arguments import Arguments, Conversions, converted
from schema.execution.compiled.field import Field, Resolve, ResolveInfo
from schema.execution.compiled.paths import PlainPath, path_of

_BACK = GraphQLCoreConverter.DEFINITION_BACKREF


def attribute_of(definition: GraphQLField) -> str | None:
    """Return the attribute that a field shows and nothing else; None for any other field."""
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
    """Give a field what resolves it as its GraphQLField's resolver does."""
    attribute = attribute_of(field.definition)
    if attribute is not None:
        field.expression = f"source.{attribute}"
    elif not _direct(schema, field):
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


def _direct(schema: GraphQLSchema, compiled: Field) -> bool:
    """Have the function behind a Strawberry field called; False where Strawberry does more."""
    field = _strawberry_field(compiled.definition)
    if field is None or field.base_resolver is None or field.extensions:
        return False
    if schema.extensions[_BACK].exception_handlers or field.base_resolver.self_parameter:
        return False
    conversions = _conversions(schema, compiled.definition, field)
    if conversions is None:
        return False
    _call(schema, compiled, field, field.base_resolver, conversions)
    return True


def _call(
    schema: GraphQLSchema,
    compiled: Field,
    field: StrawberryField,
    resolver: StrawberryResolver[Any],
    conversions: Conversions,
) -> None:
    function = cast("Callable[..., Any]", resolver.wrapped_func)
    parents = (resolver.parent_parameter, resolver.root_parameter)
    objects = {one.name for one in parents if one is not None}
    told = resolver.info_parameter.name if resolver.info_parameter else None
    if told is None and not conversions:
        compiled.function = function
        compiled.expression = f"function({', '.join(f'{name}=source' for name in objects)})"
        return
    arguments = Arguments(compiled.definition, compiled.nodes[0])
    info_class = schema.extensions[_BACK].config.info_class

    def resolve(executor: Executor[Any], compiled: Field, source: Any, path: PlainPath) -> Any:
        keywords: dict[str, Any] = dict.fromkeys(objects, source)
        if conversions:
            keywords |= converted(arguments.values(executor.variable_values), conversions)
        if told is not None:
            keywords[told] = info_class(
                _raw_info=ResolveInfo(executor, compiled, path),
                _field=field,
            )
        return function(**keywords)

    compiled.resolve = resolve


def _conversions(
    schema: GraphQLSchema, definition: GraphQLField, field: StrawberryField
) -> Conversions | None:
    """Return what arguments become; None where Strawberry makes objects of them."""
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
    """Return whether an argument is a list of leaves; None where it is neither that nor a leaf."""
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
