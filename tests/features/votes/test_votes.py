"""Helpful votes in the API: one per person, none for own comments, shown in every list."""

import random
import time
from collections.abc import Callable

import pytest
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.entities.standing import STANDING, Standing
from dal.model import Comment
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from features.votes.model import Vote
from features.votes.repository import VoteRepository
from resolvers.context import Context, Viewer
from schema.build import build_schema
from tests import oracle
from tests.calls import calls_of
from tests.putting import put_comments
from tests.schema.conftest import ANN, BOB, Run
from tests.schema.execution.test_cost import cost_of
from tests.strategies import comment

MARK = """mutation ($id: ID!) { markHelpful(input: { id: $id }) {
  comment { helpfulCount viewerFoundHelpful } userErrors { code field } } }"""
UNMARK = MARK.replace("markHelpful", "unmarkHelpful")
FIELDS = "nodes { commentId helpfulCount viewerFoundHelpful }"
PAGE = f'{{ product(productId: "voted") {{ comments(first: 20) {{ {FIELDS} }} }} }}'
HIGHLIGHTS = """{ product(productId: "voted") { highlights {
  mostHelpfulPositive { commentId } mostHelpfulCritical { commentId } } } }"""
ONE = comment("one", product_id="voted", username="ann")


async def test_a_person_votes_once_and_withdraws_the_vote(table: Table, run: Run) -> None:
    await Stores(table).comments.add(ONE)
    for operation, count, found in (
        (MARK, 1, True),
        (MARK, 1, True),  # repeated before the first vote is folded
        (UNMARK, 0, False),
        (UNMARK, 0, False),
    ):
        answer = await run(operation, BOB, id=to_base64("Comment", "one"))
        assert not answer["errors"]
        (payload,) = answer["data"].values()
        assert payload == {
            "comment": {"helpfulCount": count, "viewerFoundHelpful": found},
            "userErrors": [],
        }


async def test_a_mutation_shows_its_vote_while_the_read_lags(
    table: Table, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lagging(*_: object) -> set[str]:
        return set()

    await Stores(table).comments.add(ONE)
    monkeypatch.setattr(VoteRepository, "marked", lagging)
    answer = await run(MARK, BOB, id=to_base64("Comment", "one"))
    assert answer["data"]["markHelpful"]["comment"]["viewerFoundHelpful"] is True


READS = f"""query ($id: ID!) {{
  product(productId: "voted") {{ comments(first: 20) {{ {FIELDS} }} }}
  author(username: "ann") {{ comments(first: 20) {{ {FIELDS} }} }}
  comment(commentId: "one") {{ commentId helpfulCount viewerFoundHelpful }}
  node(id: $id) {{ ... on Comment {{ commentId helpfulCount viewerFoundHelpful }} }} }}"""
COUNTS = """{ product(productId: "voted") { comments(first: 20) { nodes {
  commentId helpfulCount } } } }"""
ONE_ID = to_base64("Comment", "one")


@pytest.mark.parametrize("exact", [250, 1], ids=["few", "many"])
async def test_each_answer_to_a_voter_has_the_vote(
    table: Table, run: Run, monkeypatch: pytest.MonkeyPatch, exact: int
) -> None:
    """Neither the number nor the index of the user's votes has the vote yet."""

    async def lagging(*_: object) -> set[str]:
        return {"two"}

    stores = Stores(table)
    await put_comments(stores.comments, [ONE, ONE._replace(comment_id="two")])
    await stores.votes.put_many([Vote("one", "voted", "max"), Vote("two", "voted", "bob")])
    await stores.folds.finish()
    monkeypatch.setattr("features.votes.repository.MOST_EXACT", exact)
    monkeypatch.setattr(VoteRepository, "marked", lagging)
    for operation, count, found in (
        (MARK, 2, True),
        (MARK, 2, True),
        (UNMARK, 1, False),
        (UNMARK, 1, False),
        (MARK, 2, True),
    ):
        answer = await run(operation, BOB, id=ONE_ID)
        (payload,) = answer["data"].values()
        assert payload["comment"] == {"helpfulCount": count, "viewerFoundHelpful": found}
        one = {"commentId": "one", "helpfulCount": count, "viewerFoundHelpful": found}
        two = {"commentId": "two", "helpfulCount": 1, "viewerFoundHelpful": True}
        answer = await run(READS, BOB, id=ONE_ID)
        assert not answer["errors"]
        for owner in ("product", "author"):
            nodes = answer["data"][owner]["comments"]["nodes"]
            assert sorted(nodes, key=lambda node: str(node["commentId"])) == [one, two]
        assert answer["data"]["comment"] == answer["data"]["node"] == one
        nodes = (await run(COUNTS, BOB))["data"]["product"]["comments"]["nodes"]
        assert {node["commentId"]: node["helpfulCount"] for node in nodes} == {
            "one": count,
            "two": 1,
        }


def test_all_fields_share_the_predicted_read_of_recent_votes() -> None:
    (reads, _), (with_counts, _) = map(cost_of, (COUNTS.replace("helpfulCount", ""), COUNTS))
    assert with_counts == reads + 1
    again = COUNTS.replace("helpfulCount", "helpfulCount again: helpfulCount")
    assert cost_of(again)[0] == with_counts


async def test_a_number_of_votes_is_shown_although_recent_votes_cannot_be_read(
    table: Table, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object) -> set[str]:
        raise StoreRefusedError("refused")

    await Stores(table).comments.add(ONE._replace(votes_before=3))
    monkeypatch.setattr(VoteRepository, "recent", refused)
    answer = await run(COUNTS, BOB)
    assert not answer["errors"]
    assert answer["data"]["product"]["comments"]["nodes"][0]["helpfulCount"] == 3


async def test_the_voters_read_notes_a_number_that_a_killed_process_left(table: Table) -> None:
    stores = Stores(table)
    await stores.comments.add(ONE)
    await Stores(table).votes.mark("one", "bob")  # this process folds nothing
    one = await stores.comments.get("one")
    assert one is not None
    recent = (await stores.votes.recent("bob"))["one"]
    assert stores.votes.shown(one, recent) == 1
    assert stores.folds.pending == {"one"}
    await stores.folds.finish()
    one = await stores.comments.get("one")
    assert one is not None
    assert stores.votes.shown(one, recent) == one.votes == 1
    assert stores.folds.pending == frozenset()


async def test_votes_are_recent_for_a_time_that_grows_with_their_number(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    stores = Stores(table)
    await put_comments(stores.comments, [ONE, ONE._replace(comment_id="two", votes=2_500)])
    for name in ("one", "two"):
        await stores.votes.mark(name, "bob")
    assert (await stores.votes.recent("bob")).keys() == {"one", "two"}
    now += 21
    assert (await stores.votes.recent("bob")).keys() == {"two"}
    now += 20
    assert await stores.votes.recent("bob") == {}


@pytest.mark.parametrize("operation", [MARK, UNMARK], ids=["mark", "unmark"])
async def test_invalid_votes_are_refused(table: Table, run: Run, operation: str) -> None:
    stores = Stores(table)
    await stores.comments.add(ONE)
    held = comment("held", username="ann")
    await stores.comments.add(held)
    await stores.moderation.reject("held", held.created_at, "mo", "No.")
    await stores.blocks.block("eve", "Spam", "mo")
    await table.put_many([STANDING.encode(Standing("gone", erasing={"comments": "delete"}))])
    for viewer, comment_id, code in (
        (ANN, "one", "BAD_ARGUMENT"),
        (BOB, "held", "NOT_FOUND"),
        (BOB, "unknown", "NOT_FOUND"),
    ):
        (payload,) = (await run(operation, viewer, id=to_base64("Comment", comment_id)))[
            "data"
        ].values()
        assert payload["comment"] is None
        (error,) = payload["userErrors"]
        assert error["code"] == code
        assert error["field"] == (["input", "id"] if code == "BAD_ARGUMENT" else None)
    for who, code in (
        (None, "UNAUTHENTICATED"),
        (Viewer("eve"), "FORBIDDEN"),
        (Viewer("gone"), "FORBIDDEN"),
    ):
        (error,) = (await run(operation, who, id=to_base64("Comment", "one")))["errors"]
        assert error["extensions"]["code"] == code
    assert stores.folds.pending == frozenset()


async def test_the_viewers_votes_of_a_page_are_read_by_one_query(table: Table) -> None:
    stores = Stores(table)
    rows = [comment(f"v{n}", product_id="voted", username="ann", votes_before=n) for n in range(5)]
    other = comment("other", product_id="voted/2", username="ann")
    await put_comments(stores.comments, [*rows, other])
    for one in ("v1", "v3", "other"):
        await stores.votes.mark(one, "bob")
    await stores.folds.finish()
    schema, calls = build_schema(), calls_of(table)

    async def page(viewer: Viewer | None, operation: str = PAGE) -> list[tuple[int, bool | None]]:
        calls.clear()
        answer = await schema.execute(operation, context_value=Context(viewer, Stores(table)))
        assert not answer.errors
        assert answer.data
        (owner,) = answer.data.values()
        nodes = {one["commentId"]: one for one in owner["comments"]["nodes"]}
        return [
            (nodes[name]["helpfulCount"], nodes[name]["viewerFoundHelpful"])
            for name in sorted(nodes)
        ]

    assert await page(None) == [(0, None), (2, None), (2, None), (4, None), (4, None)]
    assert calls.operations == {"Query": 1}
    voted = [(0, False), (2, True), (2, False), (4, True), (4, False)]
    assert await page(BOB) == voted
    assert [one.get("IndexName") for one in calls.queries] == ["all", None, "byAuthor"]
    author = PAGE.replace('product(productId: "voted")', 'author(username: "ann")')
    assert await page(BOB, author) == [(1, True), *voted]
    assert calls.operations == {"Query": 2, "BatchGetItem": 1}


def most_helpful(rows: list[Comment], fits: Callable[[int], bool]) -> str | None:
    """Return the id of the fitting comment with the most votes, among the 40 with the
    most votes.
    """
    voted = [one for one in oracle.newest_first(rows) if one.helpful_count]
    voted.sort(key=lambda one: one.helpful_count, reverse=True)
    return next((one.comment_id for one in voted[:40] if fits(one.rating)), None)


@pytest.mark.parametrize("critical", [0, 5, 50, 85, 110], ids=str)
async def test_highlights_equal_the_oracles(table: Table, run: Run, critical: int) -> None:
    """``critical`` comments are rated 1, and have fewer votes than all others."""
    rng = random.Random(critical)
    rows = [
        one._replace(
            rating=rng.choice([3, 4, 5]) if n >= critical else 1,
            votes_before=rng.choice([0, 1, 12]) + (100 if n >= critical else 0),
        )
        for n, one in enumerate(oracle.make_comments("voted", 120, seed=1))
    ]
    await put_comments(Stores(table).comments, rows)
    answer = await run(HIGHLIGHTS)
    assert not answer["errors"]
    found = answer["data"]["product"]["highlights"]
    assert {name: one and one["commentId"] for name, one in found.items()} == {
        "mostHelpfulPositive": most_helpful(rows, lambda rating: rating >= 4),
        "mostHelpfulCritical": most_helpful(rows, lambda rating: rating <= 2),
    }
