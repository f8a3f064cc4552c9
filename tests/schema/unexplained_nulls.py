"""Finds nulls that ``@semanticNonNull`` excludes: the response has no error for the field."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLNamedType,
    GraphQLSchema,
    InlineFragmentNode,
    SelectionSetNode,
    get_named_type,
    parse,
)

from schema.execution.selections import operations_of
from schema.execution.semantic_nulls import is_semantic_non_null

Path = tuple[str | int, ...]
Scope = tuple[GraphQLNamedType, SelectionSetNode]
"""A selection, and the type to which it applies."""


def unexplained_nulls(schema: GraphQLSchema, text: str, answer: Mapping[str, Any]) -> list[Path]:
    """Return the paths of nulls in the answer to a document with one operation."""
    if answer.get("data") is None:  # the document may be invalid
        return []
    document = parse(text)
    (operation,) = operations_of(document)
    root = cast("GraphQLNamedType", schema.get_root_type(operation.operation))
    failed = [tuple(error.get("path", ())) for error in answer.get("errors") or []]
    scopes = [(root, operation.selection_set)]
    return [
        path
        for path in _Nulls(schema, document).within(answer.get("data"), scopes, ())
        if all(one[: len(path)] != path for one in failed)
    ]


class _Nulls:
    """The nulls of fields with ``@semanticNonNull`` in the answer to a document."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode) -> None:
        self._types = schema.type_map
        self._fragments = {
            one.name.value: one
            for one in document.definitions
            if isinstance(one, FragmentDefinitionNode)
        }

    def within(self, value: Any, scopes: Sequence[Scope], path: Path) -> Iterator[Path]:
        """Yield the paths of the nulls in a value, which has the selections ``scopes``."""
        if isinstance(value, list):
            for number, item in enumerate(value):
                yield from self.within(item, scopes, (*path, number))
        elif isinstance(value, dict):
            found = [one for scope in scopes for one in self._fields(*scope)]
            for key, inner in value.items():
                fields = [one for one in found if one[0] == key]
                # Below an interface, fields of several types may have the same key.
                if inner is None and fields and all(is_semantic_non_null(one[1]) for one in fields):
                    yield (*path, key)
                below = [
                    (get_named_type(field.type), node.selection_set)
                    for _, field, node in fields
                    if node.selection_set
                ]
                yield from self.within(inner, below, (*path, key))

    def _fields(
        self, of: GraphQLNamedType, selection: SelectionSetNode
    ) -> Iterator[tuple[str, GraphQLField, FieldNode]]:
        """Yield each selected field, with its key in the answer."""
        for one in selection.selections:
            if isinstance(one, FieldNode):
                field = getattr(of, "fields", {}).get(one.name.value)
                if field is not None:  # not __typename
                    yield (one.alias or one.name).value, field, one
                continue
            part = cast("InlineFragmentNode | FragmentDefinitionNode", one)
            if isinstance(one, FragmentSpreadNode):
                part = self._fragments[one.name.value]
            condition = part.type_condition
            within = self._types[condition.name.value] if condition else of
            yield from self._fields(within, part.selection_set)
