"""How many rows introspection's lists have, on average over a schema's types."""

from collections.abc import Mapping
from functools import lru_cache

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
)

_WRAPPED = 0.6
"""Of ten types of fields and arguments, six are lists or non-null."""


@lru_cache(maxsize=2)
def introspected_rows(schema: GraphQLSchema) -> Mapping[str, float]:
    """Return the rows of each list, by type and field; of ``ofType`` how often it is not null."""
    types = schema.type_map.values()
    holders = [one for one in types if isinstance(one, GraphQLObjectType | GraphQLInterfaceType)]
    fields = [field for one in holders for field in one.fields.values()]
    inputs = sum(len(one.fields) for one in types if isinstance(one, GraphQLInputObjectType))
    names = sum(len(one.values) for one in types if isinstance(one, GraphQLEnumType))
    nodes = sum(len(one.interfaces) for one in holders)
    return {
        "__Schema.types": len(types),
        "__Schema.directives": len(schema.directives),
        "__Directive.args": 1,
        "__Type.fields": len(fields) / len(types),
        "__Field.args": sum(len(one.args) for one in fields) / len(fields),
        "__Type.inputFields": inputs / len(types),
        "__Type.enumValues": names / len(types),
        "__Type.interfaces": nodes / len(types),
        "__Type.possibleTypes": nodes / len(types),
        "__Type.ofType": _WRAPPED,
    }
