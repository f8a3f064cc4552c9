"""Checks of objects by id: ``node``, ``nodes``, and equal values in the list and by id."""

import json
from collections.abc import AsyncGenerator
from typing import Any

from tools.conformance import specification
from tools.conformance.check import Finding, Level, Need, check
from tools.conformance.endpoint import Answer
from tools.conformance.session import Session
from tools.conformance.shape import plain_fields

NO_ID = "this-is-no-id"

_NODE = "query ($id: ID!) { node(id: $id) { __typename id } }"


@check(
    Level.SHOULD,
    specification.NODE_FIELD,
    "node refetches each row by its id.",
    Need.ROWS,
    Need.IDS,
)
async def node_refetch(session: Session) -> AsyncGenerator[Finding]:
    """Refetch rows from all parts of the list."""
    for place in session.places:
        row = json.loads(session.rows[place].key)
        answer = await session.listing.endpoint.ask(_NODE, {"id": row["id"]})
        if answer.at(("node",)) != row:
            yield _other("node returns another object.", row, answer, ("node",))


@check(
    Level.MUST,
    specification.FIELD_STABILITY,
    "In one request, a row of the list and node with its id have equal values in every field.",
    Need.ROWS,
    Need.IDS,
)
async def node_equals_row(session: Session) -> AsyncGenerator[Finding]:
    """Select the first row and ``node`` with its id in one request, with the same fields."""
    first = json.loads(session.rows[0].key)
    fields = _fields(session, first["__typename"])
    size = "first" if session.shape.forward else "last"
    target = session.listing.target
    rows = target.selecting(f"{size}: $size", f"{{ edges {{ node {fields} }} }}")
    refetched = f"refetched: node(id: $id) {fields}"
    document = f"query ($size: Int, $id: ID!) {{ {rows[1:-1]} {refetched} }}"
    size_of_page = 1 if session.shape.forward else len(session.rows)
    answer = await session.listing.endpoint.ask(
        document, {"size": min(size_of_page, session.page_size), "id": first["id"]}
    )
    edges = answer.at((*target.path, "edges")) or []
    nodes = [edge["node"] for edge in edges]
    row = next((node for node in nodes if node["id"] == first["id"]), None)
    if row is not None and answer.at(("refetched",)) != row:
        yield _other("node returns other values.", row, answer, ("refetched",))


@check(
    Level.SHOULD,
    specification.NODE_FIELD,
    "node is null for an unknown id.",
    Need.IDS,
)
async def node_unknown(session: Session) -> AsyncGenerator[Finding]:
    """Request an id that does not exist."""
    answer = await session.listing.endpoint.ask(_NODE, {"id": NO_ID})
    if answer.data is None or answer.data.get("node") is not None:
        yield _other("node is not null.", None, answer, ("node",))


@check(
    Level.MUST,
    specification.PLURAL_FIELDS,
    "nodes returns an item for each id in the same order, null for an unknown id.",
    Need.ROWS,
    Need.NODES,
)
async def nodes_in_order(session: Session) -> AsyncGenerator[Finding]:
    """Request ids in list order, in reverse, twice the same, and with an unknown one in between."""
    ids: list[str] = session.ids[:4]
    field = session.shape.schema.query_type
    (name, *_) = field.fields["nodes"].args if field else ("ids",)
    document = f"query ($ids: [ID!]!) {{ nodes({name}: $ids) {{ id }} }}"
    for asked in (ids, ids[::-1], [ids[0], ids[0]], [ids[0], NO_ID, ids[-1]]):
        answer = await session.listing.endpoint.ask(document, {"ids": asked})
        got = [node and node.get("id") for node in answer.at(("nodes",)) or ()]
        expected = [None if one == NO_ID else one for one in asked]
        if got != expected:
            yield _other("nodes returns other items.", expected, answer, ("nodes",))


def _fields(session: Session, typename: str) -> str:
    """Return the selection of a type's plain fields."""
    plain = " ".join(plain_fields(session.shape.schema.type_map.get(typename)))
    return f"{{ __typename id ... on {typename} {{ {plain} }} }}"


def _other(sentence: str, expected: Any, answer: Answer, path: tuple[str, ...]) -> Finding:
    got = json.dumps(answer.at(path))
    if answer.errors:
        got += f", with errors: {'; '.join(answer.errors)}"
    return Finding(sentence, answer.request, expected=json.dumps(expected), got=got)


CHECKS = (node_refetch, node_equals_row, node_unknown, nodes_in_order)
