"""Measures documents and variables against their limits, in time that grows with the text alone.

Fragments that spread themselves are refused first. The others are measured once, however often they
are spread: a document of a kilobyte can spread them a billion times.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
    SelectionNode,
    SelectionSetNode,
)

from dal.limits import (
    MAX_ALIASES,
    MAX_DEFINITIONS,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_FIELDS,
    MAX_PAIRS,
    MAX_SPREADS,
    MAX_VARIABLE_VALUES,
)
from schema.execution.fragments import Fragments, fields_of, fragments_of, nodes_of

_UNIT = re.compile(
    r'"""(?:[^"\\]++|\\"""|\\|"(?!""))*+(?:""")?'
    r'|"(?:[^"\\\n\r]++|\\.)*+"?'
    r"|#[^\n\r]*+|[_A-Za-z][_0-9A-Za-z]*+|\.\.\.|[!$&():=@\[\]{|}]|-?[0-9][-+.0-9eE]*+"
)
"""A string that is never closed is one unit up to its end: no part of a text is looked at twice."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much a selection selects, with all that its fragments add."""

    levels: int = 0
    fields: int = 0
    aliases: int = 0
    spreads: int = 0

    def beside(self, other: "Extent") -> "Extent":
        """Return the extent of both selections together."""
        return Extent(
            max(self.levels, other.levels),
            self.fields + other.fields,
            self.aliases + other.aliases,
            self.spreads + other.spreads,
        )


_SPREAD = Extent(spreads=1)


def faults_of(document: DocumentNode) -> list[GraphQLError]:
    """Return what makes a document too large to be validated; no error where nothing does."""
    fault = next(chain(_faults_of_nodes(document), _faults_of_selections(document)), None)
    return [] if fault is None else [GraphQLError(fault)]


def _faults_of_nodes(document: DocumentNode) -> Iterator[str]:
    if len(document.definitions) > MAX_DEFINITIONS:
        yield (
            f"The document has {len(document.definitions):,} operations and fragments; "
            f"the most is {MAX_DEFINITIONS}."
        )
    for node in nodes_of(document):
        if isinstance(node, IntValueNode | FloatValueNode) and len(node.value) > MAX_DIGITS:
            yield f"A number has {len(node.value):,} digits; the most is {MAX_DIGITS}."
        if isinstance(node, SelectionSetNode) and not node.selections:
            yield "A selection is empty: name at least one field between its braces."


def _faults_of_selections(document: DocumentNode) -> Iterator[str]:
    fragments = fragments_of(document)
    try:
        TopologicalSorter({name: _spread_in(one) for name, one in fragments.items()}).prepare()
    except CycleError as error:
        yield f"The fragment {error.args[1][0]!r} spreads itself: take one of its spreads out."
    measure = _Measure(fragments)
    sets = [one.selection_set for one in _roots(document, fragments)]
    whole = Extent()
    for selection_set in sets:
        whole = whole.beside(measure.extent(selection_set.selections))
    if whole.levels > MAX_DEPTH + 1:
        yield f"The operation exceeds the maximum depth of {MAX_DEPTH}."
    if whole.aliases > MAX_ALIASES:
        yield f"{_number(whole.aliases)} aliases found; the most is {MAX_ALIASES}."
    if whole.fields > MAX_FIELDS:
        yield f"The document selects {_number(whole.fields)} fields; the most is {MAX_FIELDS:,}."
    if whole.spreads > MAX_SPREADS:
        yield f"The document spreads {_number(whole.spreads)} fragments; the most is {MAX_SPREADS}."
    if sum(measure.pairs([selection_set]) for selection_set in sets) > MAX_PAIRS:
        yield "The document selects the same fields too often: select each of them once."


def _spread_in(definition: Node) -> set[str]:
    return {one.name.value for one in nodes_of(definition) if isinstance(one, FragmentSpreadNode)}


def _roots(document: DocumentNode, fragments: Fragments) -> Iterator[ExecutableDefinitionNode]:
    """Yield operations, and the fragments that nothing spreads: validation walks them as well."""
    spread = _spread_in(document)
    for one in document.definitions:
        if isinstance(one, FragmentDefinitionNode):
            name = one.name.value
            if name not in spread or fragments[name] is not one:
                yield one
        elif isinstance(one, ExecutableDefinitionNode):
            yield one


def faults_of_variables(variables: object) -> list[GraphQLError]:
    """Return what makes variables too many to be coerced; no error where nothing does."""
    waiting, count = [variables], 0
    while waiting and count <= MAX_VARIABLE_VALUES:
        value = waiting.pop()
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
            count += len(value)
    if count <= MAX_VARIABLE_VALUES:
        return []
    sentence = f"The variables hold more than {MAX_VARIABLE_VALUES:,} values: send fewer at a time."
    return [GraphQLError(sentence)]


def units_of(text: str) -> int:
    """Return how many lexical units a text has; a comment counts as one.

    To count them takes a tenth of the time that it takes to parse them.
    """
    return len(_UNIT.findall(text))


def _number(count: int) -> str:
    return f"{count:,}" if count < 10**9 else "more than a billion"


class _Measure:
    """Measures selections of one document, in which no fragment spreads itself.

    A fragment that is not there adds nothing: validation names it.
    """

    def __init__(self, fragments: Fragments) -> None:
        self._fragments = fragments
        self._extents: dict[str, Extent] = {}

    def extent(self, selections: Iterable[SelectionNode]) -> Extent:
        """Return how much ``selections`` select together."""
        whole = Extent()
        for selection in selections:
            whole = whole.beside(self._of_one(selection))
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
                return self.extent(selection.selection_set.selections).beside(_SPREAD)
            case FragmentSpreadNode():
                return self._of_fragment(selection.name.value).beside(_SPREAD)
        return Extent()

    def _of_fragment(self, name: str) -> Extent:
        if name not in self._extents:
            fragment = self._fragments.get(name)
            within = fragment.selection_set.selections if fragment else ()
            self._extents[name] = self.extent(within)
        return self._extents[name]

    def pairs(self, sets: Sequence[SelectionSetNode]) -> int:
        """Return how many pairs of fields share a response key in ``sets`` and below them.

        Call it where few fields are selected: it goes through each of them.
        """
        by_key: defaultdict[str, list[FieldNode]] = defaultdict(list)
        for one in sets:
            for _, field in fields_of(one.selections, self._fragments):
                by_key[(field.alias or field.name).value].append(field)
        found = 0
        for fields in by_key.values():
            below = [field.selection_set for field in fields if field.selection_set]
            found += len(fields) * (len(fields) - 1) // 2 + (self.pairs(below) if below else 0)
        return found
