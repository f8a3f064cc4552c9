"""Limits of documents, measured in time that grows with the text alone.

Fragments are measured once, however often they are spread: a document of a kilobyte can spread
them a billion times. All of it is total: on any document that can be parsed it says something.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from graphql import (
    DocumentNode,
    FieldNode,
    FloatValueNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    IntValueNode,
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
    MAX_VARIABLE_VALUES,
)
from schema.fragments import fields_of, fragments_of, nodes_of, operations_of

_UNIT = re.compile(
    r'"""(?:\\"""|[^"]|"(?!""))*"""'
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|#[^\n\r]*|[_A-Za-z][_0-9A-Za-z]*|\.\.\.|[!$&():=@\[\]{|}]|-?[0-9][-+.0-9eE]*"
)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much a selection selects, with all that its fragments add."""

    levels: int = 0
    fields: int = 0
    aliases: int = 0

    def beside(self, other: "Extent") -> "Extent":
        """Return the extent of both selections together."""
        return Extent(
            max(self.levels, other.levels),
            self.fields + other.fields,
            self.aliases + other.aliases,
        )


def faults_of(document: DocumentNode) -> list[GraphQLError]:
    """Return what makes a document too large to be validated; no error where nothing does."""
    fault = next(_faults(document), None)
    return [] if fault is None else [GraphQLError(fault)]


def _faults(document: DocumentNode) -> Iterator[str]:
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
    measure = _Measure(document)
    asked = [one.selection_set for one in operations_of(document)]
    whole = Extent()
    for selection_set in asked:
        whole = whole.beside(measure.extent(selection_set.selections))
    if whole.levels > MAX_DEPTH + 1:
        yield f"The operation exceeds the maximum depth of {MAX_DEPTH}."
    if whole.aliases > MAX_ALIASES:
        yield f"{_number(whole.aliases)} aliases found; the most is {MAX_ALIASES}."
    if whole.fields > MAX_FIELDS:
        yield f"The document selects {_number(whole.fields)} fields; the most is {MAX_FIELDS:,}."
    if sum(measure.pairs([selection_set]) for selection_set in asked) > MAX_PAIRS:
        yield "The document selects the same fields too often: select each of them once."


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
    """Measures selections of one document.

    A fragment that is not there, or is spread within itself, adds nothing: validation names it.
    """

    def __init__(self, document: DocumentNode) -> None:
        self._fragments = fragments_of(document)
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
                )
            case InlineFragmentNode():
                return self.extent(selection.selection_set.selections)
            case FragmentSpreadNode():
                return self._of_fragment(selection.name.value)
        return Extent()

    def _of_fragment(self, name: str) -> Extent:
        if name not in self._extents:
            self._extents[name] = Extent()  # also what it is within itself
            if name in self._fragments:
                fragment = self._fragments[name]
                self._extents[name] = self.extent(fragment.selection_set.selections)
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
