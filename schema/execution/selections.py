"""Finds the fields and fragments that a document selects, and counts them.

The time of GraphQL's validation can grow with the square of the document's length. So the server
first counts, and refuses a document that exceeds a limit. A document of one kilobyte can spread its
fragments a billion times, but the time of counting these spreads grows only with the length of the
document.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import chain

from graphql import (
    DocumentNode,
    ExecutableDefinitionNode,
    FieldNode,
    FloatValueNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    IntValueNode,
    Node,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
)

from schema.execution.compiled.coercion import nodes_of

MAX_DEFINITIONS = 100
"""Maximum operations and fragments of a document. Validation compares some of them in pairs, so its
time can grow with the square of their number."""

MAX_DEPTH = 10
"""Maximum levels of nested fields in an operation, without the first level."""

MAX_ALIASES = 30
"""Maximum aliases of an operation. A fragment's aliases count once for each spread of the fragment.
Without this limit, a document could select the same long list many times."""

MAX_FIELDS = 500
"""Maximum fields of an operation. A fragment's fields count once for each spread of the
fragment."""

MAX_SPREADS = 500
"""Maximum spreads of named and inline fragments. Together with ``MAX_FIELDS``, this limit bounds
the time of every function that visits all parts of an operation."""

MAX_PAIRS = 10_000
"""Maximum pairs of fields with the same response key. Validation compares each pair."""

MAX_DIGITS = 40
"""Maximum characters of a number in a document. Parsing time grows with the square of the
length."""

Fragments = Mapping[str, FragmentDefinitionNode]


def fragments_of(document: DocumentNode) -> Fragments:
    """Return a document's fragments by name."""
    return {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }


def operations_of(document: DocumentNode) -> list[OperationDefinitionNode]:
    """Return a document's operations."""
    return [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]


def fields_of(
    selections: Iterable[SelectionNode], fragments: Fragments, of: str | None = None
) -> Iterator[tuple[str | None, FieldNode]]:
    """Yield each field, with the type condition of the innermost fragment around the field.

    The type condition is the name of a type. If no fragment around the field has a condition, yield
    ``of`` instead. Unknown fragments are skipped, because validation reports them. Call
    ``faults_of`` first, which refuses fragments that spread themselves. With such a fragment, this
    function would never end.
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
                fragment = fragments.get(selection.name.value)
                if fragment is not None:
                    named = fragment.type_condition.name.value
                    yield from fields_of(fragment.selection_set.selections, fragments, named)


def faults_of(document: DocumentNode) -> list[GraphQLError]:
    """Return an error if a document must not be validated; otherwise an empty list.

    A document must not be validated if it exceeds a limit, has an empty selection, or has a
    fragment that spreads itself.
    """
    fault = next(chain(_faults_of_nodes(document), _faults_of_selections(document)), None)
    return [] if fault is None else [GraphQLError(fault)]


def _faults_of_nodes(document: DocumentNode) -> Iterator[str]:
    if len(document.definitions) > MAX_DEFINITIONS:
        yield (
            f"The document has {len(document.definitions):,} operations and fragments; "
            f"the maximum is {MAX_DEFINITIONS}."
        )
    for node in nodes_of(document):
        if isinstance(node, IntValueNode | FloatValueNode) and len(node.value) > MAX_DIGITS:
            yield f"A number has {len(node.value):,} digits; the maximum is {MAX_DIGITS}."
        if isinstance(node, SelectionSetNode) and not node.selections:
            yield "A selection is empty: name at least one field between its braces."


def _faults_of_selections(document: DocumentNode) -> Iterator[str]:
    fragments = fragments_of(document)
    try:
        TopologicalSorter({name: _spread_in(node) for name, node in fragments.items()}).prepare()
    except CycleError as error:
        yield f"The fragment {error.args[1][0]!r} spreads itself: remove one of its spreads."
    measure = _Measure(fragments)
    sets = [root.selection_set for root in _roots(document, fragments)]
    whole = measure.extent(chain.from_iterable(one.selections for one in sets))
    if whole.levels > MAX_DEPTH + 1:
        yield f"The operation exceeds the maximum depth of {MAX_DEPTH}."
    if whole.aliases > MAX_ALIASES:
        yield f"{_number(whole.aliases)} aliases found; the maximum is {MAX_ALIASES}."
    if whole.fields > MAX_FIELDS:
        yield f"The document selects {_number(whole.fields)} fields; the maximum is {MAX_FIELDS:,}."
    if whole.spreads > MAX_SPREADS:
        number = _number(whole.spreads)
        yield f"The document spreads {number} fragments; the maximum is {MAX_SPREADS}."
    if sum(measure.pairs([selection_set]) for selection_set in sets) > MAX_PAIRS:
        yield "The document selects the same fields too often: select each field once."


def _spread_in(definition: Node) -> set[str]:
    return {one.name.value for one in nodes_of(definition) if isinstance(one, FragmentSpreadNode)}


def _roots(document: DocumentNode, fragments: Fragments) -> Iterator[ExecutableDefinitionNode]:
    """Yield the operations and the unused fragments, because validation visits both."""
    spread = _spread_in(document)
    for definition in document.definitions:
        if isinstance(definition, FragmentDefinitionNode):
            name = definition.name.value
            if name not in spread or fragments[name] is not definition:
                yield definition
        elif isinstance(definition, ExecutableDefinitionNode):
            yield definition


def _number(count: int) -> str:
    return f"{count:,}" if count < 10**9 else "more than a billion"


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a selection, with the fragments that it spreads."""

    levels: int = 0
    fields: int = 0
    aliases: int = 0
    spreads: int = 0

    def plus(self, other: "Extent") -> "Extent":
        """Return the sum of both extents."""
        return Extent(
            max(self.levels, other.levels),
            self.fields + other.fields,
            self.aliases + other.aliases,
            self.spreads + other.spreads,
        )


_SPREAD = Extent(spreads=1)


class _Measure:
    """Measures the selections of a document. Each fragment is measured once.

    Check first that no fragment spreads itself: the measurement of such a fragment never ends.
    """

    def __init__(self, fragments: Fragments) -> None:
        self._fragments = fragments
        self._extents: dict[str, Extent] = {}

    def extent(self, selections: Iterable[SelectionNode]) -> Extent:
        """Return the total size of ``selections``."""
        whole = Extent()
        for selection in selections:
            whole = whole.plus(self._of_one(selection))
        return whole

    def _of_one(self, selection: SelectionNode) -> Extent:
        match selection:
            case FieldNode():
                below = selection.selection_set
                inner = Extent() if below is None else self.extent(below.selections)
                introspects = selection.name.value.startswith("__")
                return Extent(
                    1 if introspects else 1 + inner.levels,
                    1 + inner.fields,
                    inner.aliases + (selection.alias is not None),
                    inner.spreads,
                )
            case InlineFragmentNode():
                return self.extent(selection.selection_set.selections).plus(_SPREAD)
            case FragmentSpreadNode():
                name = selection.name.value
                if name not in self._extents:
                    fragment = self._fragments.get(name)
                    within = fragment.selection_set.selections if fragment else ()
                    self._extents[name] = self.extent(within)
                return self._extents[name].plus(_SPREAD)
        return Extent()

    def pairs(self, sets: Sequence[SelectionSetNode]) -> int:
        """Return how many pairs of fields have the same response key, in ``sets`` and below them.

        GraphQL's validation compares each pair, so the number of pairs is limited. This function
        counts the pairs without comparing them. It visits a fragment's fields once for each spread,
        so check the number of spreads first.
        https://spec.graphql.org/October2021/#sec-Field-Selection-Merging
        """
        by_key: defaultdict[str, list[FieldNode]] = defaultdict(list)
        for selection_set in sets:
            for _, field in fields_of(selection_set.selections, self._fragments):
                by_key[(field.alias or field.name).value].append(field)
        found = 0
        for fields in by_key.values():
            below = [field.selection_set for field in fields if field.selection_set]
            found += len(fields) * (len(fields) - 1) // 2 + (self.pairs(below) if below else 0)
        return found
