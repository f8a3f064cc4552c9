"""Helpful votes in the API: one per person, none for own comments, shown in every list."""

import random
from collections.abc import Callable

import pytest
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.entities.standing import STANDING, Standing
from dal.model import Comment
from dal.stores import Stores
from features.votes.repository import VoteRepository
from resolvers.context import Context, Viewer
from schema.build import build_schema
from tests import oracle
from tests.calls import calls_of
from tests.putting import put_comments
from tests.schema.conftest import ANN, BOB, Run
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
    assert [one["IndexName"] for one in calls.queries] == ["all", "byAuthor"]
    author = PAGE.replace('product(productId: "voted")', 'author(username: "ann")')
    assert await page(BOB, author) == [(1, True), *voted]
    assert calls.operations == {"Query": 1, "BatchGetItem": 1}


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
