"""Reading statistics: what is there now, and what was there some seconds ago."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from dal import counters
from dal.bounded import BoundedDict
from dal.items import Item
from dal.requests import QueryRequest, RunQuery, Spend, answers
from dal.statistics import Statistics

KEPT_SECONDS = 5.0
KEPT_PRODUCTS = 1_000
_LIMIT = 1_000


@dataclass(slots=True)
class _Recent:
    statistics: Statistics | None = None
    """None while it is being read."""
    until: float = 0.0


class StatisticsStore:
    """All reading of statistics. ``run`` is a table's ``query``."""

    def __init__(self, run: RunQuery) -> None:
        self._run = run
        self._kept: BoundedDict[str, _Recent] = BoundedDict(KEPT_PRODUCTS)

    async def read(
        self, product_id: str, *, consistent: bool, spend: Spend | None = None
    ) -> Statistics:
        """Return a product's statistics by one Query of the table (more beyond 1,000 languages).

        ``consistent`` sees every write that was acknowledged, for twice the capacity.
        """
        request = QueryRequest(
            index=None,
            partition=("PK", counters.partition_of(product_id)),
            sort_key="SK",
            range=counters.SORT_KEYS,
            descending=False,
            limit=_LIMIT,
            consistent=consistent,
        )
        items: list[Item] = []
        async for answer in answers(self._run, request):
            if spend is not None:
                spend(answer.capacity)
            items += answer.items
        return counters.statistics_of(items)

    async def recent(self, product_id: str, *, spend: Spend | None = None) -> Statistics:
        """Return what the statistics were within the last seconds: for planning, never to show."""
        kept = self._kept.get(product_id)
        if kept is not None and kept.statistics is not None and time.monotonic() < kept.until:
            return kept.statistics
        mine = self._kept[product_id] = _Recent()
        statistics = await self.read(product_id, consistent=False, spend=spend)
        # ``forget`` takes the entry away; what was read before a write is then not kept beyond it.
        mine.statistics, mine.until = statistics, time.monotonic() + KEPT_SECONDS
        return statistics

    def forget(self, product_ids: Iterable[str]) -> None:
        """Read these products anew next time: they were written, or may have been."""
        for product_id in product_ids:
            self._kept.pop(product_id, None)
