"""``commentEvents``: the events of a subscription, how it resumes, and why it is refused."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from copy import copy
from functools import partial
from typing import Any

import pytest

from dal.dynamodb.table import Table
from dal.entities.comment import ALL
from dal.model import Photo
from dal.stores import Stores
from dal.table.index import QueryRequest, QueryResponse
from features.live.changes import change_of
from features.live.log import Log
from features.live.write_rule import Broker
from resolvers.change_log import ChangeLog
from resolvers.context import Context, Viewer
from schema.build import build_schema
from schema.execution.executable_schema import EventResult, RefusedSubscriptionError
from tests.edges import edge_of
from tests.engines.redis import NEEDS_REDIS, redis_server
from tests.features.live.joining import joined
from tests.putting import put_comments
from tests.strategies import comment

EVENTS = """
subscription ($rating: [Int!], $language: [String!], $after: String, $id: ID = "42",
  $buyers: Boolean, $photos: Boolean) {
  commentEvents(productId: $id, rating: $rating, language: $language, verifiedOnly: $buyers,
    hasPhotos: $photos, after: $after) {
    kind cursor deletedId edgeCursor
    commentEdge { cursor node { id rating text } }
  }
}"""
ADD = """mutation ($rating: Int!) { addComment(input: {
  productId: "42", rating: $rating, language: "en", text: "So it is"
}) { comment { id } commentEdge { cursor } } }"""
UPDATE = "mutation ($i: UpdateCommentInput!) { updateComment(input: $i) { comment { id } } }"
PAGE = """query ($rating: [Int!]) { product(productId: "42") {
  comments(rating: $rating) { eventCursor nodes { id } } } }"""
DELETE = "mutation ($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }"


class Api:
    """The schema over a table, with a broker of events."""

    def __init__(self, table: Table, broker: Broker | None = None) -> None:
        self.broker = broker or Broker()
        self.schema = build_schema()
        self.context = partial(
            Context,
            Viewer("ann"),
            Stores(table, [self.broker]),
            services={Log: self.broker.log, ChangeLog: self.broker.log},
        )

    async def run(self, document: str, **variables: Any) -> Any:
        result = await self.schema.execute(document, variables, self.context())
        assert result.errors is None
        return result.data

    async def add(self, rating: int = 5) -> str:
        """Add a comment and return its id."""
        added = await self.run(ADD, rating=rating)
        return str(added["addComment"]["comment"]["id"])

    async def page(self, **filters: Any) -> tuple[set[str], str]:
        """Return the ids of a page's comments, and the page's event cursor."""
        page = (await self.run(PAGE, **filters))["product"]["comments"]
        return {node["id"] for node in page["nodes"]}, page["eventCursor"]

    async def listen(
        self, document: str = EVENTS, **variables: Any
    ) -> AsyncGenerator[EventResult, None]:
        return await self.schema.listen(
            document, variables, None, context=self.context, seconds=60.0
        )


@pytest.fixture
def api(table: Table) -> Api:
    return Api(table)


async def told(answers: AsyncGenerator[EventResult, None], count: int) -> list[dict[str, Any]]:
    """Return the next ``count`` events."""
    found = [(await anext(answers)).result for _ in range(count)]
    assert [result.errors for result in found] == [None] * count
    return [result.data["commentEvents"] for result in found if result.data]


async def test_events_have_edges_and_cursors(api: Api) -> None:
    async with aclosing(await api.listen()) as answers:
        added = (await api.run(ADD, rating=5))["addComment"]
        node_id = added["comment"]["id"]
        ready, first = await told(answers, 2)
        await api.run(UPDATE, i={"id": node_id, "rating": 4})
        (second,) = await told(answers, 1)
        await api.run(DELETE, id=node_id)
        (third,) = await told(answers, 1)
    cursor = added["commentEdge"]["cursor"]
    assert [one["kind"] for one in (ready, first, second, third)] == [
        "READY",
        "ADDED",
        "CHANGED",
        "DELETED",
    ]
    assert ready["commentEdge"] is ready["deletedId"] is ready["edgeCursor"] is None
    assert first["commentEdge"] == {
        "cursor": cursor,
        "node": {"id": node_id, "rating": 5, "text": "So it is"},
    }
    assert second["commentEdge"]["node"]["rating"] == 4
    assert (third["commentEdge"], third["deletedId"]) == (None, node_id)
    assert {one["edgeCursor"] for one in (first, second, third)} == {cursor}
    async with aclosing(await api.listen(after=first["cursor"])) as answers:
        assert await told(answers, 1) == [third], "the edit's event would have a removed comment"


async def test_an_edit_moves_a_comment_between_filtered_lists(api: Api) -> None:
    best, worst = await api.listen(rating=[4, 5]), await api.listen(rating=[1])
    async with aclosing(best), aclosing(worst):
        node_id = (await api.run(ADD, rating=5))["addComment"]["comment"]["id"]
        assert [one["kind"] for one in await told(best, 2)] == ["READY", "ADDED"]
        await api.run(UPDATE, i={"id": node_id, "rating": 1})
        assert [one["kind"] for one in await told(best, 1)] == ["DELETED"]
        assert [one["kind"] for one in await told(worst, 2)] == ["READY", "ADDED"]


@pytest.mark.parametrize(
    ("asked", "kept", "dropped"),
    [
        ({"language": "de"}, {"language": "de-AT"}, {"language": "fr"}),
        ({"language": "de-AT"}, {"language": "de-AT"}, {"language": "de"}),
        ({"buyers": True}, {"verified_purchase": True}, {"verified_purchase": False}),
        ({"photos": True}, {"photos": (Photo("https://a.example/1"),)}, {"photos": ()}),
    ],
)
async def test_a_filtered_list_receives_only_its_own_events(
    api: Api, asked: dict[str, Any], kept: dict[str, Any], dropped: dict[str, Any]
) -> None:
    store = api.context().stores.comments
    async with aclosing(await api.listen(**asked)) as answers:
        await put_comments(store, [comment("other")])
        events = await told(answers, 1)
        for rating, changes in ((3, kept), (1, kept), (1, dropped), (2, dropped), (3, kept)):
            one = comment("one", rating=rating, **changes)
            await put_comments(store, [one])
            if (rating, changes) != (2, dropped):  # the list never has this state
                events += await told(answers, 1)
    assert [one["kind"] for one in events] == ["READY", "ADDED", "CHANGED", "DELETED", "ADDED"]


@pytest.mark.parametrize(
    ("document", "variables", "code"),
    [
        (EVENTS, {"after": "x"}, "BAD_CURSOR"),
        (EVENTS, {"rating": [6]}, "BAD_ARGUMENT"),
        (EVENTS, {"id": ""}, "BAD_ARGUMENT"),
        (EVENTS, {"rating": "x"}, "BAD_REQUEST"),
        ("{ __typename }", {}, "BAD_REQUEST"),
        ("subscription { nothing }", {}, "BAD_REQUEST"),
        ("subscription {", {}, "BAD_REQUEST"),
        (
            """subscription { commentEvents(productId: "42") { commentEdge { node { product {
              comments(rating: [1, 2, 3], language: ["en", "de"]) { nodes { id } } } } } } }""",
            {},
            "QUERY_TOO_COSTLY",
        ),
    ],
)
async def test_invalid_subscriptions_are_refused(
    api: Api, document: str, variables: dict[str, Any], code: str
) -> None:
    with pytest.raises(RefusedSubscriptionError) as refused:
        await api.listen(document, **variables)
    (error,) = refused.value.errors
    assert (error.extensions or {})["code"] == code
    assert not api.broker.log._listeners


async def test_a_subscription_over_plain_http_is_refused(api: Api) -> None:
    result = await api.schema.execute(EVENTS, {}, api.context())
    assert result.errors
    assert "text/event-stream" in result.errors[0].message


async def test_a_field_below_an_event_is_read_for_each_event(api: Api) -> None:
    document = """subscription { commentEvents(productId: "42") { kind commentEdge { node {
      product { statistics { total } } } } } }"""
    async with aclosing(await api.listen(document)) as answers:
        await api.run(ADD, rating=5)
        _, added = await told(answers, 2)
    assert added["commentEdge"]["node"]["product"]["statistics"]["total"] == 1


async def test_a_page_and_the_events_after_it_form_the_whole_list(table: Table) -> None:
    api = Api(table)
    await assert_nothing_is_lost(api, api)


@NEEDS_REDIS
async def test_a_subscription_at_another_process_continues_after_a_page(table: Table) -> None:
    with redis_server() as redis:
        async with joined(redis.url, "t") as one, joined(redis.url, "t") as other:
            await assert_nothing_is_lost(Api(table, one), Api(table, other))


async def assert_nothing_is_lost(api: Api, other: Api) -> None:
    """Write comments before, during and after a client's page, and while the client listens.

    The client reads the page at ``api`` and listens at ``other``. The page and the events together
    must contain every comment. Comments with other ratings are in the log too.
    """
    first = await api.add()
    (shown, cursor), during = await asyncio.gather(api.page(rating=[4, 5]), other.add())
    assert first in shown
    after = [await api.add(), await other.add(), await other.add(1)][:2]
    async with aclosing(await other.listen(rating=[4, 5], after=cursor)) as answers:
        written = {first, during, *after, await api.add(4)}
        while shown != written:
            (event,) = await told(answers, 1)
            assert event["kind"] == "ADDED"
            shown.add(event["commentEdge"]["node"]["id"])
    assert not other.broker.log._listeners


async def test_a_change_during_a_read_is_an_event_and_on_the_next_page(table: Table) -> None:
    """Another process writes, so this one does not know that its read in progress is outdated."""
    slow, read, go_on = copy(table), asyncio.Event(), asyncio.Event()

    async def query(request: QueryRequest) -> QueryResponse:
        answer = await table.query(request)
        if request.index is ALL:
            read.set()
            await go_on.wait()
        return answer

    slow.query = query  # type: ignore[method-assign]
    api, others = Api(slow), Stores(table)
    first = asyncio.create_task(api.page())
    await read.wait()
    new = edge_of(await others.comments.add(comment("1", product_id="42")))
    api.broker.publish(change_of(None, new.node))
    second = asyncio.create_task(api.page())
    for _ in range(20):
        await asyncio.sleep(0)
    go_on.set()
    shown, cursor = await first
    async with aclosing(await api.listen(after=cursor)) as answers:
        (event,) = await told(answers, 1)
    assert (shown, event["kind"]) == (set(), "ADDED")
    assert (await second)[0] == {event["commentEdge"]["node"]["id"]}


async def test_a_server_without_subscriptions_has_no_event_cursor(table: Table) -> None:
    api = Api(table)
    api.context = partial(Context, Viewer("ann"), Stores(table))
    assert (await api.page())[1] is None
