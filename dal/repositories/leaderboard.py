"""Leaderboards: the products with the most comments rated 5, overall or in one language (AP11).

A product stands on a board while it has such a comment; products of one count stand in the reverse
order of their ids. A rank is a product's place on the board, so no two share one, and they go on
from page to page. A cursor says nothing of ranks, because products above it come and go: the ranks
of a later page are known by counting what stands above it.
"""

from dataclasses import replace

from dal.client.table import Table
from dal.entities import LEADERBOARDS
from dal.entities.product import board_of, decode_rank
from dal.model import ProductRank
from dal.query.access_patterns import query_of
from dal.query.executor import Executor
from dal.query.pagination import Edge, Page, PageReader, Slice
from dal.table.index import QueryRequest, Spend
from dal.table.ranges import Range

RANKED = 1_000
"""Products whose ranks are told."""

RANKS_BYTES = 100 * RANKED
"""What counting them reads, about: 12.5 RCU."""


class LeaderboardRepository:
    """All access to leaderboards."""

    def __init__(self, table: Table) -> None:
        self._table = table
        executor = Executor(table.query, LEADERBOARDS)
        self._pages = PageReader(executor, decode_rank, descending=True)

    async def page(self, language: str | None, cut: Slice, *, ranked: bool) -> Page[ProductRank]:
        """Return one page of a board, most comments rated 5 first; ranks when ``ranked``.

        Pages that begin beyond the first RANKED products have none.
        """
        filters = {} if language is None else {"language": frozenset({language})}
        page = await self._pages.read(query_of(filters), cut)
        if not ranked or not page.edges:
            return page
        above: int | None = 0
        if cut.backward or cut.after is not None:
            above = await self._above(language, page.edges[0].position, page.stats.spend)
        if above is None:
            return page
        edges = [
            Edge(replace(edge.node, rank=rank), edge.position)
            for rank, edge in enumerate(page.edges, above + 1)
        ]
        return replace(page, edges=edges)

    async def _above(self, language: str | None, position: str, spend: Spend) -> int | None:
        """Return how many products stand above a position; None for RANKED or more."""
        board, values = board_of(language)
        request = QueryRequest(
            board, board.partition_of(values), Range(low=position, low_open=True), limit=RANKED
        )
        above = await self._table.count(request, spend)
        return None if above >= RANKED else above
