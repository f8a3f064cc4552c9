"""Leaderboards on both engines: numeric order, stable order of ties, exact ranks, pages."""

import uuid
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.counts.counter_items import encode
from dal.counts.counts import RatingCounts, StatisticsKey
from dal.dynamodb.table import Table
from dal.entities.product import rank_position
from dal.model import Comment
from dal.query.pagination import Slice
from dal.repositories import leaderboard
from dal.repositories.leaderboard import RANKED, RANKS_BYTES
from dal.stores import Stores
from tests import oracle
from tests.putting import put_comments
from tests.strategies import FEW, comment

COUNTS = {"a": 9, "b": 10, "c": 100, "d": 1, "e": 10, "f/g": 10, "none": 0, "日本": 2}
ORDER = ["c", "f/g", "e", "b", "a", "日本", "d"]
"""The products by count. Products with equal counts are in reverse order of their ids."""


def rows_of(counts: Mapping[str, int], language: str = "en") -> list[Comment]:
    """Return comments of each product: the given number rated 5, and one rated 4."""
    return [
        comment(
            f"{product}-{language}-{number}",
            product_id=product,
            language=language,
            rating=5 if number else 4,
            created_at=oracle.START,
        )
        for product, count in counts.items()
        for number in range(count + 1)
    ]


@pytest.fixture
async def store(each_table: Table) -> Stores:
    store = Stores(each_table)
    await put_comments(store.comments, rows_of(COUNTS))
    await store.boards.finish()
    return store


async def read(
    store: Stores,
    language: str | None = None,
    *,
    size: int = 100,
    after: str | None = None,
    backward: bool = False,
    ranked: bool = True,
) -> list[tuple[int | None, str, int]]:
    cut = Slice(size, backward=backward, after=after)
    page = await store.leaderboard.page(language, cut, ranked=ranked)
    return [(node.rank, node.product.product_id, node.count) for node in page.nodes]


def listed(counts: Mapping[str, int], order: list[str]) -> list[tuple[int | None, str, int]]:
    return [(rank, product, counts[product]) for rank, product in enumerate(order, 1)]


async def test_the_order_is_numeric_ties_are_stable_and_products_without_fives_are_absent(
    store: Stores,
) -> None:
    assert await read(store) == listed(COUNTS, ORDER)


async def test_a_comment_rated_5_moves_a_product_up_and_its_deletion_down(store: Stores) -> None:
    await store.comments.add(comment("new", product_id="a", rating=5))
    await store.comments.add(comment("newer", product_id="a", rating=5))
    await store.comments.update("c-en-1", {"rating": 4}, lambda _: None)
    await store.comments.delete("d-en-1", lambda _: None)
    await store.comments.update("none-en-0", {"rating": 5}, lambda _: None)
    assert await read(store) == listed(COUNTS, ORDER), "boards follow later"
    await store.boards.finish()
    counts = {**COUNTS, "a": 11, "c": 99, "d": 0, "none": 1}
    assert await read(store) == listed(counts, ["c", "a", "f/g", "e", "b", "日本", "none"])


async def test_each_language_has_its_own_leaderboard(store: Stores) -> None:
    german = {"a": 3, "d": 4, "none": 0}
    await put_comments(store.comments, rows_of(german, "de"))
    await store.boards.finish()
    assert await read(store, "en") == listed(COUNTS, ORDER)
    assert await read(store, "de") == listed(german, ["d", "a"])
    counts = {**COUNTS, "a": 12, "d": 5}
    assert await read(store) == listed(counts, ["c", "a", "f/g", "e", "b", "d", "日本"])
    assert await read(store, "fr") == []


async def test_the_leaderboard_of_a_range_counts_all_its_tags(each_table: Table) -> None:
    """A product moves on the boards of each range, also when a tag's last comment is deleted."""
    store = Stores(each_table)
    tags = {"en": 2, "en-GB": 3, "en-US": 1, "zh-Hant-TW": 2, "zh-Hant-HK": 1, "nb": 1, "nn": 1}
    rows = [row for tag, count in tags.items() for row in rows_of({"a": count}, tag)]
    await put_comments(store.comments, [*rows, *rows_of({"b": 4}, "en-US")])
    await store.boards.finish()
    assert await read(store, "en") == [(1, "a", 6), (2, "b", 4)]
    assert await read(store, "en-US") == [(1, "b", 4), (2, "a", 1)]
    assert await read(store, "en-GB") == [(1, "a", 3)]
    assert await read(store, "zh-Hant") == await read(store, "zh") == [(1, "a", 3)]
    assert await read(store, "no") == [(1, "a", 2)]
    assert await read(store, "nb") == await read(store, "nn") == [(1, "a", 1)]
    assert await read(store) == [(1, "a", 11), (2, "b", 4)]
    await store.comments.delete("a-nn-1", lambda _: None)
    await store.comments.update("a-en-GB-1", {"language": "en-US"}, lambda _: None)
    await store.boards.finish()
    assert await read(store, "nn") == []
    assert await read(store, "no") == [(1, "a", 1)]
    assert await read(store, "en") == [(1, "a", 6), (2, "b", 4)]
    assert await read(store, "en-US") == [(1, "b", 4), (2, "a", 2)]


async def test_a_rank_is_that_of_the_current_leaderboard(store: Stores) -> None:
    """A product that moves up after the cursor was returned changes the ranks of the next page."""
    page = await store.leaderboard.page(None, Slice(2), ranked=True)
    risen = {"p1": 200, "p2": 50}
    await put_comments(store.comments, rows_of(risen))
    await store.boards.finish()
    third = await read(store, size=1, after=page.edges[-1].position)
    assert third == [(5, "e", 10)]


async def test_ranks_of_a_first_page_cost_nothing(store: Stores) -> None:
    async def requests(*, ranked: bool, after: str | None = None) -> int:
        page = await store.leaderboard.page(None, Slice(3, after=after), ranked=ranked)
        return page.stats.requests

    page = await store.leaderboard.page(None, Slice(3), ranked=False)
    assert [node.rank for node in page.nodes] == [None] * 3
    position = page.edges[-1].position
    assert await requests(ranked=True) == 1
    assert await requests(ranked=False, after=position) == 1
    assert await requests(ranked=True, after=position) == 2


async def test_beyond_the_ranked_products_only_the_ranks_are_unknown(
    store: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaderboard, "RANKED", 3)
    pages = await store.leaderboard.page(None, Slice(3), ranked=True)
    second, third = pages.edges[1].position, pages.edges[2].position
    assert await read(store, size=2, after=second) == listed(COUNTS, ORDER)[2:4]
    unranked = [(None, product, count) for _, product, count in listed(COUNTS, ORDER)]
    assert await read(store, after=third) == unranked[3:]
    assert await read(store, size=4, backward=True) == unranked[3:]
    assert await read(store, size=5, backward=True) == listed(COUNTS, ORDER)[2:]


class Board:
    """A leaderboard in the store and the same counts in memory. The language is used only here."""

    def __init__(self, table: Table) -> None:
        self.store = Stores(table)
        self.language = f"x-{uuid.uuid4().hex}"
        self.fives: dict[str, list[str]] = {}

    async def add(self, product: str) -> None:
        """Add a comment rated 5."""
        comment_id = uuid.uuid4().hex
        made = comment(comment_id, product_id=product, language=self.language, rating=5)
        await self.store.comments.add(made)
        self.fives.setdefault(product, []).append(comment_id)

    async def take(self, product: str) -> None:
        """Delete a comment rated 5 if the product has one."""
        if self.fives.get(product):
            await self.store.comments.delete(self.fives[product].pop(), lambda _: None)

    async def check_page(self, cut: Slice) -> tuple[list[str], bool]:
        """Compare a page with the counts in memory. Return the page, and whether rows follow."""
        order = sorted(
            (rank_position(product, len(ids)) for product, ids in self.fives.items() if ids),
            reverse=True,
        )
        page = await self.store.leaderboard.page(self.language, cut, ranked=True)
        positions = [edge.position for edge in page.edges]
        wanted = oracle.page_of(order, cut)
        info = page.page_info
        assert (positions, info.has_next_page, info.has_previous_page) == wanted
        assert [one.rank for one in page.nodes] == [1 + order.index(one) for one in positions]
        return positions, wanted[2] if cut.backward else wanted[1]


products = st.sampled_from(["a", "b", "c", "a/b", "a#", "é", "\ue000", "😀"])


@FEW
@given(
    st.lists(products, max_size=16),
    st.integers(1, 3),
    st.booleans(),
    st.lists(st.tuples(products, st.booleans()), max_size=6),
)
async def test_each_page_is_exact_while_products_rise_and_fall(
    table: Table,
    fives: list[str],
    size: int,
    backward: bool,
    changes: list[tuple[str, bool]],
) -> None:
    board = Board(table)
    for product in fives:
        await board.add(product)
    await board.store.boards.finish()
    end: str | None = None
    more = True
    while more:
        positions, more = await board.check_page(oracle.next_cut(size, end, backward=backward))
        if positions:
            end = positions[0 if backward else -1]
        more = more and bool(positions)
        if changes:
            product, rises = changes.pop()
            await (board.add if rises else board.take)(product)
            await board.store.boards.finish()


async def test_a_rank_costs_at_most_a_thousand_rows(
    table: Table,
) -> None:
    """Every page has this limit. Without it, a page would cost 128 RCU."""
    places = [
        encode(StatisticsKey(f"product-{number:05}"), RatingCounts((0, 0, 0, 0, 1)))
        for number in range(RANKED + 200)
    ]
    await table.put_many(places)
    board = Stores(table).leaderboard
    costs = []
    for number, rank in ((500, 701), (100, None), (1, None)):
        after = Slice(1, after=places[number]["GSISK"]["S"])
        page = await board.page(None, after, ranked=True)
        assert [node.rank for node in page.nodes] == [rank]
        costs.append(page.stats.consumed_capacity)
    assert costs[1] == costs[2] <= 0.5 + RANKS_BYTES / 4096 / 2
