"""The shop's replies: permissions, edits that keep replies, and concurrent writes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strawberry import Schema
from strawberry.relay.utils import to_base64

from dal.dynamodb.errors import ConflictError
from dal.dynamodb.table import Table
from dal.errors import NotFoundError
from dal.model.submissions import ReviewCause
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from resolvers.context import Viewer
from schema.build import build_schema
from tests.calls import calls_of
from tests.edges import edge_of
from tests.fakes import anybody
from tests.moderating import edit_for, held_for, publish, reject, submission_of
from tests.schema.conftest import ANN, MERCHANT, MODERATOR, STAFF, Run, looks_missing, runner
from tests.strategies import FEW, comment
from tests.verifying import verify
from tests.writers import ignore

ONE = comment("one", username="ann")
NODE_ID = to_base64("Comment", "one")
REPLY = """mutation Reply($input: ReplyToCommentInput!) { replyToComment(input: $input) {
  comment { id text updatedAt reply { text createdAt } } userErrors { field code message } } }"""
REMOVE = """mutation Remove($input: RemoveReplyInput!) { removeReply(input: $input) {
  comment { id reply { text } } userErrors { field code message } } }"""


Work = Callable[[Stores, str], Awaitable[object]]


@pytest.fixture(scope="module")
def schema() -> Schema:
    return build_schema()


@pytest.fixture
def stores(table: Table) -> Stores:
    return Stores(table)


@pytest.fixture
def run(schema: Schema, stores: Stores) -> Run:
    return runner(schema, stores)


async def reply(run: Run, text: str, node_id: str = NODE_ID) -> Any:
    answer = await run(REPLY, MERCHANT, input={"id": node_id, "text": text})
    assert answer["errors"] == []
    return answer["data"]["replyToComment"]


async def remove(run: Run) -> Any:
    answer = await run(REMOVE, MERCHANT, input={"id": NODE_ID})
    assert answer["errors"] == []
    return answer["data"]["removeReply"]


async def test_a_reply_is_shown_replaced_and_removed(run: Run, stores: Stores) -> None:
    await stores.comments.add(ONE)
    first = await reply(run, "Thank you.")
    assert first["userErrors"] == []
    assert first["comment"]["reply"]["text"] == "Thank you."
    assert first["comment"]["updatedAt"] is None, "a reply is no edit"
    again = await reply(run, "Thanks.")
    assert again["comment"]["reply"]["text"] == "Thanks."
    assert again["comment"]["reply"]["createdAt"] > first["comment"]["reply"]["createdAt"]
    page = await stores.comments.page(Selection("42"), Slice(9))
    assert [one.reply and one.reply.text for one in page.nodes] == ["Thanks."]
    assert (await remove(run))["comment"] == {"id": NODE_ID, "reply": None}
    assert (await stores.comments.get("one")) is not None


async def test_an_equal_reply_writes_nothing(
    run: Run, table: Table, stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "audit")
    await stores.comments.add(ONE)
    first = await reply(run, "Thank you.")
    calls = calls_of(table)
    assert await reply(run, "Thank you.") == first
    assert calls.operations == {"BatchGetItem": 1, "GetItem": 1}
    await remove(run)
    calls.clear()
    assert (await remove(run))["comment"]["reply"] is None
    assert calls.operations == {"BatchGetItem": 1, "GetItem": 1}
    logged = [record.getMessage() for record in caplog.records if record.name == "audit"]
    assert [message.split()[1] for message in logged] == ["replied", "removed"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", "empty"),
        (" \n\u200b", "empty"),
        ("x" * 2_001, "2,001"),
    ],
    ids=["empty", "blank", "too long"],
)
async def test_an_invalid_reply_is_refused(run: Run, stores: Stores, text: str, value: str) -> None:
    await stores.comments.add(ONE)
    payload = await reply(run, text)
    assert payload["comment"] is None
    (error,) = payload["userErrors"]
    assert (error["field"], error["code"]) == (["input", "text"], "BAD_ARGUMENT")
    assert value in error["message"]
    assert await stores.comments.get("one") == ONE
    assert (await reply(run, "x" * 2_000))["userErrors"] == []


async def pending_one(stores: Stores) -> str:
    await stores.comments.add(ONE, hold=held_for(ReviewCause.SETTING))
    return NODE_ID


async def submission(stores: Stores) -> str:
    await pending_one(stores)
    return to_base64("Submission", "one")


async def rejected_one(stores: Stores) -> str:
    await stores.comments.add(ONE)
    await reject(stores, "one")
    return NODE_ID


async def deleted_one(stores: Stores) -> str:
    added = await stores.comments.add(ONE, "key")
    comment_id = edge_of(added).node.comment_id
    await stores.comments.delete(comment_id, anybody)
    return to_base64("Comment", comment_id)


async def unknown(_: Stores) -> str:
    return NODE_ID


@pytest.mark.parametrize("missing", [pending_one, submission, rejected_one, deleted_one, unknown])
async def test_only_published_comments_can_be_replied_to(
    run: Run, schema: Schema, table: Table, missing: Callable[[Stores], Awaitable[str]]
) -> None:
    """For a comment in any other state, the error and the cost equal those of a missing comment."""
    node_id = await missing(Stores(table))
    operation = (
        f'mutation {{ removeReply(input: {{id: "{node_id}"}}) {{ userErrors {{ code }} }} }}'
    )
    await looks_missing(schema, table, operation, MERCHANT, {node_id: to_base64("Comment", "no")})
    assert await reply(run, "Thank you.", node_id) == {
        "comment": None,
        "userErrors": [{"field": None, "code": "NOT_FOUND", "message": "Comment not found."}],
    }


@pytest.mark.parametrize("viewer", [ANN, MODERATOR, STAFF])
async def test_only_merchants_may_reply(run: Run, stores: Stores, viewer: Viewer) -> None:
    await stores.comments.add(ONE)
    for operation, more in ((REPLY, {"text": "x"}), (REMOVE, {})):
        answer = await run(operation, viewer, input={"id": NODE_ID, **more})
        assert [one["extensions"]["code"] for one in answer["errors"]] == ["FORBIDDEN"]
    assert await stores.comments.get("one") == ONE


async def test_a_reply_is_kept_by_edits_and_reviews(run: Run, table: Table, stores: Stores) -> None:
    await stores.comments.add(ONE)
    await reply(run, "Thank you.")
    shown = await stores.comments.get("one")
    assert shown is not None
    await stores.comments.update("one", {"text": "edited"}, anybody, edit_for(ReviewCause.WORDS))
    held = await submission_of(table, "one")
    assert held is not None
    assert held.reply == shown.reply
    await reject(stores, "one")
    await publish(stores, "one")
    back = await stores.comments.get("one")
    assert back is not None
    assert (back.text, back.reply) == ("edited", shown.reply)


class Gate:
    """A service whose calls wait until ``step`` lets the next one pass."""

    def __init__(self, table: Table) -> None:
        self._service = table.service
        self.endpoint_url = table.service.endpoint_url
        self._open, self._waits = asyncio.Event(), asyncio.Event()
        self.stores = Stores(Table(self, table.name))

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._waits.set()
        await self._open.wait()
        self._open.clear()
        return await self._service.call(operation, arguments)

    async def step(self, task: asyncio.Task[None]) -> None:
        """Let a call pass as soon as one waits, unless the task is done."""
        waits = asyncio.ensure_future(self._waits.wait())
        await asyncio.wait([task, waits], return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()
        self._waits.clear()
        self._open.set()


async def interleaved(table: Table, comment_id: str, order: list[int]) -> list[bool]:
    """Run ``WORKS`` concurrently, with their calls in the given order.

    Return whether each succeeded.
    """
    done = [False] * len(WORKS)

    async def do(number: int, stores: Stores) -> None:
        with suppress(NotFoundError, ConflictError):
            await WORKS[number](stores, comment_id)
            done[number] = True

    gates = [Gate(table) for _ in WORKS]
    tasks = [asyncio.create_task(do(number, one.stores)) for number, one in enumerate(gates)]
    while not all(one.done() for one in tasks):
        left = [number for number, one in enumerate(tasks) if not one.done()]
        number = order.pop(0) if order else left[0]
        if number in left:
            await gates[number].step(tasks[number])
    await asyncio.gather(*tasks)
    return done


async def hide_and_show(stores: Stores, comment_id: str) -> None:
    """Reject a comment, then publish it."""
    await reject(stores, comment_id)
    await publish(stores, comment_id)


WORKS: list[Work] = [
    lambda stores, one: stores.comments.update(one, {"text": "edited"}, anybody),
    lambda stores, one: stores.comments.update(one, {"title": "Edited"}, anybody),
    lambda stores, one: stores.comments.reply(one, "Thank you."),
    hide_and_show,
]
NUMBERS = count()


@FEW
@given(order=st.lists(st.integers(0, 3), max_size=30))
async def test_concurrent_edits_and_replies_are_both_stored(table: Table, order: list[int]) -> None:
    comment_id = f"one-{next(NUMBERS)}"
    await Stores(table).comments.add(comment(comment_id))
    _, _, replied, decided = await interleaved(table, comment_id, order)
    held = await submission_of(table, comment_id)
    shown = await Stores(table).comments.get(comment_id)
    one = held or shown
    assert one is not None
    assert (one.text, one.title) == ("edited", "Edited")
    assert bool(one.reply) is replied
    assert shown is not None or not decided
    assert await verify(table, ignore) == []
