"""Leaderboards: the products with the most comments rated 5, overall or in one language.

A leaderboard lists all products that have a comment rated 5. The leaderboard of a language counts
only comments in this language, which is a range: ``en`` counts comments in ``en-US``. Products with
the same count are sorted by descending id. A rank is a product's place on the leaderboard, so two
products never have the same rank. A cursor contains no rank, because a comment on another product
may change the rank. To find the ranks of a later page, the server counts the products before the
page.
"""

from dataclasses import replace

from dal.catalogue import query_of
from dal.dynamodb.table import Table
from dal.entities import LEADERBOARDS
from dal.entities.product import board_of, decode_rank
from dal.model import ProductRank
from dal.model.languages import disjoint_ranges
from dal.query.executor import Executor
from dal.query.pagination import Edge, Page, PageReader, Slice
from dal.table.index import QueryRequest
from dal.table.ranges import Range

RANKED = 1_000
"""The number of products that have ranks: the top 1,000."""

RANKS_BYTES = 100 * RANKED
"""The approximate size in bytes of the rows of all ranked products. Counting these rows costs 12.5
RCU."""


class LeaderboardRepository:
    """Reads leaderboards."""

    def __init__(self, table: Table) -> None:
        self._table = table
        executor = Executor(table.query, LEADERBOARDS)
        self._pages = PageReader(executor, decode_rank, descending=True)

    async def page(self, language: str | None, cut: Slice, *, ranked: bool) -> Page[ProductRank]:
        """Return one page of a leaderboard, with ranks only if ``ranked`` is set.

        This is the access pattern AP11. ``language`` is a range; None means all languages together.
        Norwegian with a region, such as ``no-NO``, counts only Bokmål, because a leaderboard has
        one range. The product with the most comments rated 5 is first. Pages that begin after the
        top RANKED products have no ranks.
        """
        ranked_by = None if language is None else min(disjoint_ranges([language]))
        filters = {} if ranked_by is None else {"language": frozenset({ranked_by})}
        page = await self._pages.read(query_of(filters), cut)
        if not ranked or not page.edges:
            return page
        above = 0
        if cut.backward or cut.after is not None:
            board, values = board_of(ranked_by)
            better = Range(low=page.edges[0].position, low_open=True)
            request = QueryRequest(board, board.partition_of(values), better, limit=RANKED)
            above = await self._table.count(request, page.stats.spend)
            if above >= RANKED:
                return page
        edges = [
            Edge(replace(edge.node, rank=rank), edge.position)
            for rank, edge in enumerate(page.edges, above + 1)
        ]
        return replace(page, edges=edges)
