"""Leaderboards: the products with the most comments rated 5, overall or in one language (AP11).

A product stands on a board while it has such a comment; products of one count stand in the reverse
order of their ids. A rank is a product's place on the board, so no two share one, and they go on
from page to page. A cursor says nothing of ranks, because products above it come and go: the ranks
of a later page are known by counting what stands above it.
"""

from dataclasses import replace

from dal.counters import product_of
from dal.dynamodb import Table
from dal.errors import RankTooDeepError
from dal.indexes import LEADER_INDEXES, LEADERS, LEADERS_BY_LANGUAGE
from dal.items import Item
from dal.keys import COUNT_LENGTH, parse_count
from dal.model import Product, ProductRank
from dal.pages import Edge, Page, PageReader
from dal.plans import Query
from dal.positions import Range
from dal.requests import QueryRequest, Spend
from dal.rows import RowReader
from dal.slices import Slice

RANKED = 10_000
"""Products whose ranks are told: counting them reads about 1 MB, 128 RCU."""


class Leaderboard:
    """All reading of leaderboards."""

    def __init__(self, table: Table) -> None:
        self._table = table
        rows = RowReader(table.query, LEADER_INDEXES)
        self._pages = PageReader(rows, _decode, descending=True)

    async def page(self, language: str | None, cut: Slice, *, ranked: bool) -> Page[ProductRank]:
        """Return one page of a board, most comments rated 5 first; ranks when ``ranked``.

        Raises RankTooDeepError for the ranks of a page beyond the 10,000th product.
        """
        filters = {} if language is None else {"language": frozenset({language})}
        page = await self._pages.read(Query("AP11", filters), cut)
        if not ranked or not page.edges:
            return page
        above = 0
        if cut.backward or cut.after is not None:
            above = await self._above(language, page.edges[0].position, page.reading.spend)
        edges = [
            Edge(replace(edge.node, rank=rank), edge.position)
            for rank, edge in enumerate(page.edges, above + 1)
        ]
        return replace(page, edges=edges)

    async def _above(self, language: str | None, position: str, spend: Spend) -> int:
        """Return how many products stand above a position."""
        board = LEADERS if language is None else LEADERS_BY_LANGUAGE
        values = {} if language is None else {"language": language}
        above = await self._table.count(
            QueryRequest(
                index=board.name,
                partition=(board.partition_key, board.partition_of(values)),
                sort_key=board.sort_key,
                range=Range(low=position, low_open=True),
                descending=False,
                limit=RANKED,
            ),
            spend,
        )
        if above == RANKED:
            raise RankTooDeepError(
                f"Ranks are known of the first {RANKED:,} products: ask for this page without rank."
            )
        return above


def _decode(item: Item) -> ProductRank:
    count = parse_count(item["GSISK"]["S"][:COUNT_LENGTH])
    return ProductRank(Product(product_of(item)), count)
