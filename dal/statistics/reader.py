"""Reads a product's statistics: as they are now, or as they were within the last seconds."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cachetools import TTLCache

from dal.entities.product import details_in
from dal.model import ProductDetails
from dal.statistics import counter_items
from dal.statistics.counter_items import SORT_KEYS, WITH_DETAILS, StoredCounts, stored_in
from dal.statistics.counts import CommentStatistics
from dal.table.index import TABLE
from dal.table.items import Item
from dal.table.ranges import Range
from dal.table.requests import QueryRequest, RunQuery, Spend, answers

KEPT_SECONDS = 5.0
KEPT_PRODUCTS = 1_000
"""How long statistics serve the planning of pages, and of how many products."""


@dataclass(slots=True)
class _Recent:
    statistics: CommentStatistics | None = None
    """None while it is being read."""


def _nobody(product_id: str, stored: Sequence[StoredCounts]) -> None:
    """Tell nobody what was read."""


class StatisticsReader:
    """Reads statistics items. ``run`` is a table's ``query``; ``seen`` is told of what was read."""

    def __init__(
        self, run: RunQuery, seen: Callable[[str, Sequence[StoredCounts]], None] = _nobody
    ) -> None:
        self._run = run
        self._seen = seen
        self._kept: TTLCache[str, _Recent] = TTLCache(KEPT_PRODUCTS, KEPT_SECONDS, time.monotonic)

    async def read(
        self, product_id: str, *, consistent: bool, spend: Spend | None = None
    ) -> CommentStatistics:
        """Return a product's statistics by one Query of the table (more beyond 1,000 languages).

        ``consistent`` sees every write that was acknowledged, for twice the capacity.
        """
        return (await self._read(product_id, SORT_KEYS, consistent=consistent, spend=spend))[0]

    async def read_with_details(self, product_id: str) -> tuple[CommentStatistics, ProductDetails]:
        """Return a product's statistics, read consistently, and its details, by the same Query."""
        statistics, items = await self._read(product_id, WITH_DETAILS, consistent=True)
        return statistics, details_in(items).get(product_id, ProductDetails())

    async def _read(
        self, product_id: str, keys: Range, *, consistent: bool, spend: Spend | None = None
    ) -> tuple[CommentStatistics, list[Item]]:
        """Return a product's statistics, and all items among which they stood."""
        partition = counter_items.partition_of(product_id)
        request = QueryRequest(TABLE, partition, keys, consistent=consistent)
        items: list[Item] = []
        async for answer in answers(self._run, request):
            if spend is not None:
                spend(answer.capacity)
            items += answer.items
        stored = list(stored_in(items))
        self._seen(product_id, stored)
        return counter_items.statistics_of(stored), items

    async def recent(self, product_id: str, *, spend: Spend | None = None) -> CommentStatistics:
        """Return statistics that may lag by KEPT_SECONDS: for planning, never to show."""
        kept = self._kept.get(product_id)
        if kept is not None and kept.statistics is not None:
            return kept.statistics
        mine = self._kept[product_id] = _Recent()
        # ``forget`` takes the entry away; what was read before a write is then not kept beyond it.
        mine.statistics = await self.read(product_id, consistent=False, spend=spend)
        return mine.statistics

    def forget(self, product_ids: Iterable[str]) -> None:
        """Read these products anew next time: they were written, or may have been."""
        for product_id in product_ids:
            self._kept.pop(product_id, None)
