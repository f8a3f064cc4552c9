"""A document's nodes, operations and fragments, and the fields that a selection names."""

from collections.abc import Iterable, Iterator, Mapping

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    Node,
    OperationDefinitionNode,
    SelectionNode,
)

Fragments = Mapping[str, FragmentDefinitionNode]


def fragments_of(document: DocumentNode) -> Fragments:
    """Return a document's fragments by name."""
    return {
        one.name.value: one
        for one in document.definitions
        if isinstance(one, FragmentDefinitionNode)
    }


def operations_of(document: DocumentNode) -> list[OperationDefinitionNode]:
    """Return a document's operations."""
    return [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]


def nodes_of(root: Node) -> Iterator[Node]:
    """Yield a node and every node below it, without recursion."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        for key in node.keys:
            child = getattr(node, key, None)
            children = child if isinstance(child, list | tuple) else [child]
            waiting += [one for one in children if isinstance(one, Node)]


def fields_of(
    selections: Iterable[SelectionNode], fragments: Fragments, of: str | None = None
) -> Iterator[tuple[str | None, FieldNode]]:
    """Yield each field with the type condition of its fragment, or None.

    Call it on a document without ``measure``'s faults: no fragment spreads itself, and few are
    spread. A fragment that is not there adds nothing: validation names it.
    """
    for selection in selections:
        match selection:
            case FieldNode():
                yield of, selection
            case InlineFragmentNode():
                condition = selection.type_condition
                named = condition.name.value if condition else of
                yield from fields_of(selection.selection_set.selections, fragments, named)
            case FragmentSpreadNode():
                one = fragments.get(selection.name.value)
                if one is not None:
                    named = one.type_condition.name.value
                    yield from fields_of(one.selection_set.selections, fragments, named)
