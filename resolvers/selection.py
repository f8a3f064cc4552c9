"""Look-ahead: which fields below a resolver's own the request selects."""

from collections.abc import Iterator

import strawberry
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    SelectionSetNode,
)

from resolvers.context import Context

Info = strawberry.Info[Context, None]


def selects(info: Info, *path: str) -> bool:
    """Return whether the request selects the field at ``path`` below the current field.

    Directives count as selecting: the answer may be a needless yes, never a wrong no.
    """
    raw = info._raw_info  # noqa: SLF001 - Strawberry's public selected_fields copies the whole tree
    sets = [node.selection_set for node in raw.field_nodes]
    for name in path:
        sets = [
            field.selection_set
            for selected in sets
            if selected is not None
            for field in _fields(selected, raw.fragments)
            if field.name.value == name
        ]
    return bool(sets)


def _fields(
    selected: SelectionSetNode, fragments: dict[str, FragmentDefinitionNode]
) -> Iterator[FieldNode]:
    for node in selected.selections:
        match node:
            case FieldNode():
                yield node
            case InlineFragmentNode():
                yield from _fields(node.selection_set, fragments)
            case FragmentSpreadNode():
                yield from _fields(fragments[node.name.value].selection_set, fragments)
