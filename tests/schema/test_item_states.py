"""Every operation by id meets an item in every state, and an item that another program wrote."""

from itertools import chain
from typing import Any

import pytest
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.entities.comment import COMMENT, COUNTED, FOLDED, comment_key
from dal.entities.submission import encode
from dal.model.submissions import ReviewCause, pending, rejected
from dal.table.items import Item, bytes_of
from resolvers.context import Viewer
from schema.roots import NODES
from tests.feature_lists import added, merged
from tests.schema.conftest import BOB, MODERATOR, Run
from tests.strategies import comment

ONE = comment("x", username="ann", text="ä" * 3_000)
MARK = idempotency.mark(ONE)
PUBLISHED = COMMENT.encode(ONE)
WAITING = pending(ONE, ReviewCause.WORDS, ONE.created_at)
FOREIGN: Item = {
    "flag": {"BOOL": True},
    "nothing": {"NULL": True},
    "number": {"N": "5"},
    "text": {"S": "ä" * 3_000},
    "list": {"L": [{"S": "ä"}, {"BOOL": False}]},
    "map": {"M": {"key": {"NULL": True}}},
    "set": {"SS": ["a", "b"]},
}
"""Attributes of all types, as other programs may write them."""

STATES: dict[str, Item | None] = {
    "published": PUBLISHED,
    "folded": PUBLISHED | {FOLDED: {"BOOL": True}, COUNTED: {"N": "3"}} | MARK,
    "pending": encode(WAITING) | MARK,
    "rejected": encode(rejected(WAITING, "no", ONE.created_at)),
    "tombstone": idempotency.tombstone(PUBLISHED | MARK),
    "missing": None,
    "of another program": comment_key("x") | FOREIGN,
    "published by another program": PUBLISHED | FOREIGN,
    "pending by another program": encode(WAITING) | FOREIGN,
    "of both shapes": PUBLISHED | encode(WAITING),
    "with other types": comment_key("x") | {"data": {"N": "5"}, "state": {"BOOL": True}},
}
PUBLIC = {"published", "folded", "published by another program"}
HELD = {"pending", "rejected", "pending by another program"}

OF_ALL = Viewer("mo", frozenset({"moderator", "merchant"}))
_INPUTS = {
    "updateComment": 'text: "new"',
    "deleteComment": "",
    "replyToComment": 'text: "new"',
    "removeReply": "",
}
INPUTS = merged(_INPUTS, "INPUTS")
"""The mutations by id, with the rest of their input."""
OF_COMMENTS = {*chain.from_iterable(added("OF_COMMENTS"))}
"""These mutations accept the id of a ``Comment`` only."""
OF_PUBLISHED = {
    *("replyToComment", "removeReply"),
    *OF_COMMENTS,
    *chain.from_iterable(added("OF_PUBLISHED")),
}
ERRORS = "userErrors { code }"
BY_OWN_ID = ('comment(commentId: "x")', 'order(orderId: "x")', 'ticket(ticketId: "x")')


def test_the_size_of_an_item_counts_attributes_of_all_types() -> None:
    item = {"a": {"S": "ä"}, "b": {"B": b"xyz"}, "c": {"BOOL": True}, "d": {"L": [{"N": "12"}]}}
    assert bytes_of(item, item) == 3 + 4 + 2 + 4


@pytest.mark.parametrize("state", STATES)
async def test_an_id_shows_only_an_item_of_its_type(run: Run, table: Table, state: str) -> None:
    item = STATES[state]
    await table.put_many([item] if item else [])
    for kind in NODES.loaders:
        own = "x/x" if kind == "OrganizationUser" else "x"
        node = f'node(id: "{to_base64(kind, own)}") {{ __typename }}'
        nodes = f'nodes(ids: ["{to_base64(kind, own)}"]) {{ __typename }}'
        for viewer in (BOB, MODERATOR):
            answer = await run(f"{{ {node} {nodes} }}", viewer)
            shown = kind in {"Product", "Author"} or (kind == "Comment" and state in PUBLIC)
            shown = shown or (kind == "Submission" and state in HELD and viewer is MODERATOR)
            assert answer["errors"] == [], (kind, viewer)
            found: Any = {"__typename": kind} if shown else None
            assert answer["data"] == {"node": found, "nodes": [found]}, (kind, viewer)
    for field in BY_OWN_ID:
        answer = await run(f"{{ {field} {{ id }} }}", BOB)
        is_shown = field == BY_OWN_ID[0] and state in PUBLIC
        assert answer["errors"] == []
        assert [one is not None for one in answer["data"].values()] == [is_shown]


@pytest.mark.parametrize("kind", ["Comment", "Submission"])
@pytest.mark.parametrize("state", STATES)
async def test_a_write_by_id_meets_an_item_in_any_state(
    run: Run, table: Table, state: str, kind: str
) -> None:
    for name, given in INPUTS.items():
        await table.write([{"Delete": {"Key": comment_key("x")}}])
        item = STATES[state]
        await table.put_many([item] if item else [])
        node_id = to_base64(kind, "x")
        fields = f'id: "{node_id}" {given.replace("SEEN", ONE.created_at.isoformat())}'
        answer = await run(f"mutation {{ {name}(input: {{ {fields} }}) {{ {ERRORS} }} }}", OF_ALL)
        assert answer["errors"] == [], name
        codes = [one["code"] for one in answer["data"][name]["userErrors"]]
        there = PUBLIC if name in OF_PUBLISHED else PUBLIC | HELD
        wrong = "BAD_ARGUMENT" if kind == "Submission" and name in OF_COMMENTS else "NOT_FOUND"
        assert codes == ([] if state in there and wrong == "NOT_FOUND" else [wrong]), name
