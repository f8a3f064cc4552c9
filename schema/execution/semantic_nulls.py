"""``@semanticNonNull`` in the SDL: marks fields that are null only after an error.

The directive is that of the nullability proposal: https://specs.apollo.dev/nullability/v0.4/. It is
derived from the resolver: the field's GraphQL type is nullable, so that an error does not remove
the objects around the field, but the resolver's return type excludes None.
"""

from collections.abc import AsyncIterator
from copy import copy
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import strawberry
from graphql import (
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    is_non_null_type,
)
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.schema_directive import Location
from strawberry.types.field import StrawberryField


@strawberry.schema_directive(
    name="semanticNonNull",
    locations=[Location.FIELD_DEFINITION],
    description="The field is null only if the response has an error for it. In `levels`, 0 is the "
    "field, and 1 its items if it is a list.",
)
class SemanticNonNull:
    """The directive. All fields use the default of ``levels``, which the SDL then omits."""

    levels: list[int] = strawberry.directive_field(name="levels", default=(0,))


_OF_FIELD = SemanticNonNull(levels=strawberry.UNSET)
_DEFINITION = GraphQLCoreConverter.DEFINITION_BACKREF


def mark_semantic_non_null(schema: GraphQLSchema) -> None:
    """Add the directive to the fields of a schema, for its SDL.

    Introspection does not change, because the directive is not one of the schema's directives.
    """
    for owner in schema.type_map.values():
        if isinstance(owner, GraphQLObjectType | GraphQLInterfaceType):
            for field in owner.fields.values():
                if is_semantic_non_null(field):
                    # Several schemas share the definition.
                    definition = copy(field.extensions[_DEFINITION])
                    definition.directives = [_OF_FIELD]
                    field.extensions[_DEFINITION] = definition


def is_semantic_non_null(field: GraphQLField) -> bool:
    """Return whether a nullable field is null only after an error."""
    definition: StrawberryField | None = field.extensions.get(_DEFINITION)
    if is_non_null_type(field.type) or definition is None or definition.base_resolver is None:
        return False
    returned = get_type_hints(definition.base_resolver.wrapped_func)["return"]
    if get_origin(returned) is AsyncIterator:  # a subscription
        (returned,) = get_args(returned)
    return not _includes_none(returned)


def _includes_none(hint: Any) -> bool:
    if get_origin(hint) in {Union, UnionType}:
        return any(map(_includes_none, get_args(hint)))
    return hint in {NoneType, object, Any}
