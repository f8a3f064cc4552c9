"""Look-ahead: which fields below a resolver's own the request selects.

A compiled field keeps the answers that follow from the document alone in its ``memo``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import strawberry
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLResolveInfo,
    InlineFragmentNode,
    SelectionSetNode,
    Undefined,
    value_from_ast_untyped,
)

from resolvers.request.context import Context

Info = strawberry.Info[Context, None]


def selects(info: Info, *path: str) -> bool:
    """Return whether the request selects the field at ``path`` below the current field.

    Directives count as selecting: the answer may be a needless yes, never a wrong no.
    """
    raw = _raw(info)
    memo: dict[object, bool] = getattr(raw, "memo", {})
    if path not in memo:
        memo[path] = _reaches(raw.field_nodes, path, raw.fragments)
    return memo[path]


def weight(info: Info) -> int:
    """Return how many fields the request selects below the current one, at all depths."""
    raw = _raw(info)
    memo: dict[object, int] = getattr(raw, "memo", {})
    if weight not in memo:
        memo[weight] = sum(_weight(node, raw.fragments) for node in raw.field_nodes)
    return memo[weight]


def _weight(node: FieldNode, fragments: dict[str, FragmentDefinitionNode]) -> int:
    if node.selection_set is None:
        return 0
    return sum(1 + _weight(below, fragments) for below in _fields(node.selection_set, fragments))


@dataclass(frozen=True, slots=True)
class Selected:
    """A field that the request selects: the arguments that say something, and its nodes."""

    arguments: Mapping[str, Any]
    nodes: Sequence[FieldNode]
    fragments: dict[str, FragmentDefinitionNode]

    def selects(self, *path: str) -> bool:
        """Return whether the request selects the field at ``path`` below this one."""
        return _reaches(self.nodes, path, self.fragments)


def below(info: Info, name: str) -> Iterator[Selected]:
    """Yield the fields of that name below the current one, one for each response key."""
    raw = _raw(info)
    by_key: dict[str, list[FieldNode]] = {}
    for node in _under(raw.field_nodes, name, raw.fragments):
        by_key.setdefault((node.alias or node.name).value, []).append(node)
    for nodes in by_key.values():
        given = {
            argument.name.value: value_from_ast_untyped(argument.value, info.variable_values)
            for argument in nodes[0].arguments or ()
        }
        stated = {one: value for one, value in given.items() if value not in (None, Undefined)}
        yield Selected(stated, nodes, raw.fragments)


def _raw(info: Info) -> GraphQLResolveInfo[Any]:
    return info._raw_info  # noqa: SLF001 - Strawberry's public selected_fields copies the whole tree


def _reaches(
    nodes: Sequence[FieldNode], path: Sequence[str], fragments: dict[str, FragmentDefinitionNode]
) -> bool:
    for name in path:
        nodes = _under(nodes, name, fragments)
    return bool(nodes)


def _under(
    nodes: Sequence[FieldNode], name: str, fragments: dict[str, FragmentDefinitionNode]
) -> list[FieldNode]:
    """Return the nodes of one name below any of ``nodes``."""
    return [
        field
        for node in nodes
        if node.selection_set is not None
        for field in _fields(node.selection_set, fragments)
        if field.name.value == name
    ]


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
