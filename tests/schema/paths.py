"""Finds the fields of the schema with given types, and the fields that operations select."""

from collections.abc import Iterable

from graphql import (
    FieldNode,
    GraphQLObjectType,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    get_named_type,
    parse,
    visit,
)
from strawberry import Schema

Field = tuple[str, str]
"""A field: the name of its type, and its own name."""


def leading_to(schema: Schema, private: set[str]) -> set[Field]:
    """Return the fields whose type is among ``private``."""
    return {
        (parent.name, name)
        for parent in schema._schema.type_map.values()
        if isinstance(parent, GraphQLObjectType)
        for name, field in parent.fields.items()
        if get_named_type(field.type).name in private
    }


def asked_by(schema: Schema, operations: Iterable[str]) -> set[Field]:
    """Return the fields that ``operations`` select."""
    info = TypeInfo(schema._schema)
    asked: set[Field] = set()

    class Fields(Visitor):
        def enter_field(self, node: FieldNode, *_: object) -> None:
            parent = info.get_parent_type()
            assert parent is not None
            asked.add((parent.name, node.name.value))

    for operation in operations:
        visit(parse(operation), TypeInfoVisitor(info, Fields()))
    return asked
