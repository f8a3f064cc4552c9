"""Shows which fields of front ends' GraphQL documents are compiled.

``schema.execution.compiled`` executes compiled fields. graphql-core executes all other fields.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path
from typing import Any
from unittest import mock

import typer
from graphql import (
    REMOVE,
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FragmentSpreadNode,
    GraphQLSchema,
    Node,
    OperationDefinitionNode,
    OperationType,
    Visitor,
    parse,
    visit,
)
from graphql.execution.values import VariableValues

from schema.build import build_schema
from schema.execution.compiled import operation as compiling
from schema.execution.compiled.coercion import nodes_of
from schema.execution.compiled.fields import Selection, selection_of
from schema.execution.selections import Fragments, fragments_of, operations_of
from tools.bench.report import Section, write_report

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("examples", "tests/clients", "tests/fixtures/documents")
LEAST = 0.95
"""The minimum share of all documents' fields that must be compiled."""

COMPILED_AWAY = {
    "_unmask",
    "appendEdge",
    "argumentDefinitions",
    "arguments",
    "catch",
    "connection",
    "deleteEdge",
    "prependEdge",
    "raw_response_type",
    "refetchable",
}
"""Directives for Relay's compiler and gql.tada. These tools remove the directives from a document
before a client sends it."""

_LITERAL = re.compile(r"(?:\bgraphql(?:\(\s*)?|/\* GraphQL \*/ )`([^`]+)`")
_SUFFIXES = {".graphql", ".js", ".mjs", ".ts", ".tsx"}
_WHOLE = (
    "the document has over four variables in @skip and @include, or unusual directives or fragments"
)
_MADE = {"__generated__", "gql", "node_modules", "dist"}


class _Sent(Visitor):
    def enter_directive(self, node: DirectiveNode, *_: Any) -> Any:
        return REMOVE if node.name.value in COMPILED_AWAY else None

    def enter_field(self, node: FieldNode, *_: Any) -> Any:
        # Relay reads the field ``__id`` from its own store, and does not send it to a server.
        return REMOVE if node.name.value == "__id" else None


def documents_in(directory: Path) -> Iterator[tuple[Path, DocumentNode]]:
    """Yield documents as clients send them, from GraphQL files and from front ends' source code."""
    texts: dict[Path, list[str]] = {}
    for path in sorted(directory.rglob("*.*")):
        if path.suffix in _SUFFIXES and _MADE.isdisjoint(path.parts):
            text = path.read_text("utf-8")
            if path.suffix == ".graphql":
                texts[path] = [text]
            elif found := _LITERAL.findall(text):
                texts.setdefault(path.parent, []).extend(found)
    for path, found in texts.items():
        yield path, visit(parse("\n".join(found)), _Sent())


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of an operation's fields, and which of them are not compiled.

    A fragment's fields count once, even if the operation uses the fragment several times.
    """

    place: str
    operation: str
    fields: int
    left: Sequence[tuple[str, str]]
    """The fields that graphql-core executes, each with the reason."""


def coverage(schema: GraphQLSchema, place: str, document: DocumentNode) -> Iterator[Coverage]:
    """Yield the coverage of each query and mutation in a document."""
    fragments = fragments_of(document)
    for node in operations_of(document):
        if node.operation is not OperationType.SUBSCRIPTION:
            compiled = _compiled(schema, document, node)
            fields = {id(one): one.name.value for one in _fields(node, fragments)}
            why = "introspection" if compiled else _WHOLE
            left = [(name, why) for key, name in fields.items() if key not in compiled]
            yield Coverage(place, node.name.value if node.name else "", len(fields), left)


def _compiled(
    schema: GraphQLSchema, document: DocumentNode, node: OperationDefinitionNode
) -> set[int]:
    """Return ``id(node)`` of each field node that is compiled.

    The variables in @skip and @include decide which fields are compiled. The result has each field
    that is compiled for at least one combination of their values. It is empty if there is a
    combination for which graphql-core executes the whole operation.
    """
    compiled: set[int] = set()

    def record(of: Any, grouped: Any, selected: Any, completion: Any) -> Selection:
        for details, one in zip(grouped.values(), selected, strict=True):
            if not callable(one):
                compiled.update(id(detail.node) for detail in details)
        return selection_of(of, grouped, selected, completion)

    with mock.patch.object(compiling, "selection_of", record):
        operation = compiling.CompiledOperation(schema, document, node)
        declared = {one.variable.name.value for one in node.variable_definitions or ()}
        names = declared & (compiling.conditions_in(document) or set())
        for values in product([True, False], repeat=len(names)):
            coerced = VariableValues({}, dict(zip(names, values, strict=True)))
            if operation.selection(coerced) is None:
                return set()
    return compiled


def _fields(root: Node, fragments: Fragments) -> Iterator[FieldNode]:
    waiting, spread = [root], set()
    while waiting:
        for node in nodes_of(waiting.pop()):
            if isinstance(node, FieldNode):
                yield node
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in spread:
                spread.add(node.name.value)
                waiting.append(fragments[node.name.value])


def coverages() -> Iterator[Coverage]:
    """Yield the coverage of the documents in ``DOCUMENTS``: of examples, clients and fixtures."""
    schema = build_schema().documents.schema
    for directory in DOCUMENTS:
        for path, document in documents_in(ROOT / directory):
            yield from coverage(schema, str(path.relative_to(ROOT)), document)


def compiled() -> None:
    """Show which fields of front ends' queries and mutations are compiled.

    Exit code 1 if less than 95 % of all fields are compiled.
    """
    found = list(coverages())
    rows = []
    for place, group in groupby(found, key=lambda one: one.place):
        of_place = list(group)
        rows.append([place, str(len(of_place)), *_figures(of_place)])
    rows.append(["all", str(len(found)), *_figures(found)])
    columns = ("documents", "operations", "fields", "compiled", "%")
    sections = [Section("Compiled fields", columns, rows)]
    left = [[one.place, one.operation, *each] for one in found for each in one.left]
    if left:
        titles = ("documents", "operation", "field", "reason")
        sections.append(Section("Fields that graphql-core executes", titles, left, names=4))
    write_report("compiled", sections, [], write=False)
    if share(found) < LEAST:
        raise typer.Exit(1)


def _figures(found: Sequence[Coverage]) -> list[str]:
    fields = sum(one.fields for one in found)
    left = sum(len(one.left) for one in found)
    return [str(fields), str(fields - left), f"{100 * share(found):.1f}"]


def share(found: Sequence[Coverage]) -> float:
    """Return the share of the fields that are compiled."""
    return 1 - sum(len(one.left) for one in found) / sum(one.fields for one in found)
