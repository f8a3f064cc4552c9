"""Checks of the fields ``node`` and ``nodes``, which return a list's rows by their ids."""

import json
from collections.abc import AsyncGenerator
from typing import Any

from tools.conformance.check import Finding, Level, Need, check
from tools.conformance.endpoint import Answer
from tools.conformance.session import Session
from tools.conformance.shape import plain_fields

NO_ID = "this-is-no-id"

_NODE = "query ($id: ID!) { node(id: $id) { __typename id } }"


@check(Level.SHOULD, "objectidentification.htm#sec-Node-root-field", Need.ROWS, Need.IDS)
async def node_refetch(session: Session) -> AsyncGenerator[Finding]:
    """The field `node` returns a row of the list by the row's id."""
    for place in session.places:
        row = json.loads(session.rows[place].key)
        answer = await session.listing.endpoint.ask(_NODE, {"id": row["id"]})
        if answer.at(("node",)) != row:
            yield _other("node does not return the row with this id.", row, answer, "node")


@check(Level.MUST, "objectidentification.htm#sec-Field-stability", Need.ROWS, Need.IDS)
async def node_equals_row(session: Session) -> AsyncGenerator[Finding]:
    """In one response, a row has the same field values in the list and in the field node."""
    first = json.loads(session.rows[0].key)
    typename, target = first["__typename"], session.listing.target
    plain = " ".join(plain_fields(session.shape.schema.type_map.get(typename)))
    fields = f"{{ __typename id ... on {typename} {{ {plain} }} }}"
    # The check needs a page with the list's first row. If the connection has no argument first, the
    # check requests the last page. This page contains the first row only if the whole list fits on
    # one page. If the page lacks the first row, the check passes without a comparison.
    name, size = ("first", 1) if session.shape.forward else ("last", len(session.rows))
    rows = target.selecting(f"{name}: $size", f"{{ edges {{ node {fields} }} }}")
    refetched = f"refetched: node(id: $id) {fields}"
    answer = await session.listing.endpoint.ask(
        f"query ($size: Int, $id: ID!) {{ {rows[1:-1]} {refetched} }}",
        {"size": min(size, session.page_size), "id": first["id"]},
    )
    nodes = [edge["node"] for edge in answer.at((*target.path, "edges")) or []]
    row = next((node for node in nodes if node["id"] == first["id"]), None)
    if row is not None and answer.at(("refetched",)) != row:
        yield _other(
            "node and the list return different values for a row.", row, answer, "refetched"
        )


@check(Level.SHOULD, "objectidentification.htm#sec-Node-root-field", Need.IDS)
async def node_unknown(session: Session) -> AsyncGenerator[Finding]:
    """The field `node` is null for an unknown id."""
    answer = await session.listing.endpoint.ask(_NODE, {"id": NO_ID})
    if answer.data is None or answer.data.get("node") is not None:
        yield _other("node is not null for an unknown id.", None, answer, "node")


@check(
    Level.MUST,
    "objectidentification.htm#sec-Plural-identifying-root-fields",
    Need.ROWS,
    Need.NODES,
)
async def nodes_in_order(session: Session) -> AsyncGenerator[Finding]:
    """The field `nodes` returns an item for each id, in the same order. Unknown ids return null."""
    rows = [json.loads(session.rows[place].key) for place in session.places]
    ids: list[str] = list(dict.fromkeys(row["id"] for row in rows if row))[:4]
    field = session.shape.schema.query_type
    (name, *_) = field.fields["nodes"].args if field else ("ids",)
    document = f"query ($ids: [ID!]!) {{ nodes({name}: $ids) {{ id }} }}"
    for asked in (ids, ids[::-1], [ids[0], ids[0]], [ids[0], NO_ID, ids[-1]]):
        answer = await session.listing.endpoint.ask(document, {"ids": asked})
        got = [node and node.get("id") for node in answer.at(("nodes",)) or ()]
        expected = [None if one == NO_ID else one for one in asked]
        if got != expected:
            yield _other(
                "nodes does not return one item for each id, in the order of the ids.",
                expected,
                answer,
                "nodes",
            )


def _other(sentence: str, expected: Any, answer: Answer, key: str) -> Finding:
    got = json.dumps(answer.at((key,)))
    if answer.errors:
        got += f", with errors: {'; '.join(answer.errors)}"
    return Finding(sentence, answer.request, expected=json.dumps(expected), got=got)


CHECKS = (node_refetch, node_equals_row, node_unknown, nodes_in_order)
