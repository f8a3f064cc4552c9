"""What the planner knows of a product's comments: counts from the statistics, sizes from reading.

A recent profile may lag, and only shapes the plan: whatever it says, each segment is read until
the page is full or the segment's end is seen. A certain profile may prove that a segment is empty.
It is taken only from statistics that

- were read consistently, after the page was asked for,
- hold every comment of the table and are changed in the transaction of every write of one, so that
  they cannot lag: ``dal/counting.py`` says for how long that is certain, and
- agree with themselves: every item's total is the sum of its counts, its seal fits them, and the
  counts of all languages are the sum of the languages' counts. The seal tells counts that were set
  by hand, which may agree in all else.

A comment whose write was acknowledged before the page was asked for is then counted in what is
read, so its segment is not empty there, and is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dal.bounded import BoundedDict
from dal.counting import CountingStore
from dal.indexes import ALL, TABLE_KEYS
from dal.items import Item
from dal.plans import Filters, Profile, Query
from dal.positions import Range
from dal.reading import Reading
from dal.requests import QueryRequest, RunQuery
from dal.statistics import Statistics
from dal.statistics_store import StatisticsStore

KEPT_PRODUCTS = 10_000

_SAMPLE = 8
_WEIGHT = 0.2
"""How many rows of a page are measured, and how much they move what was known."""

_MEASURED = (*TABLE_KEYS, ALL.sort_key, "rating", "language", "data")
"""What the rows of all indexes have in common; a partition key's bytes are counted as of ``all``,
so that a product's rows are of one size whichever index they were read from."""


@dataclass(frozen=True, slots=True)
class CommentProfile:
    """The profile of one product's comments."""

    statistics: Statistics
    row_bytes: float
    proves_absence: bool = False

    def count(self, filters: Filters) -> int:
        """Return how many comments pass ``filters``."""
        ratings = filters.get("rating")
        return self.statistics.counts_of(
            filters.get("language"), None if ratings is None else [int(one) for one in ratings]
        )


class CommentProfiles:
    """Knows the products that were read lately. ``run`` is a table's ``query``."""

    def __init__(self, run: RunQuery, statistics: StatisticsStore, counting: CountingStore) -> None:
        self._run = run
        self._statistics = statistics
        self._counting = counting
        self._row_bytes: BoundedDict[str, float] = BoundedDict(KEPT_PRODUCTS)

    async def recent(self, query: Query, reading: Reading) -> Profile | None:
        """Return a profile that may lag by seconds; None when the product has no statistics."""
        product = _product_of(query)
        statistics = await self._statistics.recent(product, spend=reading.spend_planning)
        if not statistics.total:
            return None
        if product not in self._row_bytes:
            await self._sample(query, reading)
        return self._profile(product, statistics)

    async def certain(self, query: Query, reading: Reading) -> Profile | None:
        """Return a profile that proves absence: read now, and sound. Else a recent one."""
        if not (await self._counting.current()).proves_absence:
            return await self.recent(query, reading)
        product = _product_of(query)
        statistics = await self._statistics.read(product, consistent=True, spend=reading.spend)
        if not statistics.total:
            return None
        return self._profile(product, statistics, proves_absence=statistics.sound)

    def learn(self, query: Query, rows: Sequence[tuple[str, Item]]) -> None:
        """Take note of the sizes of rows that were read."""
        if not rows:
            return
        product = _product_of(query)
        sample = rows[:: max(1, len(rows) // _SAMPLE)]
        seen = sum(_bytes(row) for _, row in sample) / len(sample) + _partition_bytes(product)
        known = self._row_bytes.get(product, seen)
        self._row_bytes[product] = known + _WEIGHT * (seen - known)

    async def _sample(self, query: Query, reading: Reading) -> None:
        """Measure a product's newest rows, once: its first page is then planned as the others."""
        request = QueryRequest(
            index=ALL.name,
            partition=(ALL.partition_key, ALL.partition_of({"product": _product_of(query)})),
            sort_key=ALL.sort_key,
            range=Range(),
            descending=True,
            limit=_SAMPLE,
        )
        answer = await self._run(request)
        reading.spend_planning(answer.capacity)
        self.learn(query, [(row[ALL.sort_key]["S"], row) for row in answer.items])

    def _profile(
        self, product: str, statistics: Statistics, *, proves_absence: bool = False
    ) -> CommentProfile | None:
        """Return what is known; None of a product that has no row yet, whatever is counted."""
        row_bytes = self._row_bytes.get(product)
        if row_bytes is None:
            return None
        return CommentProfile(statistics, row_bytes, proves_absence)


def _product_of(query: Query) -> str:
    (product,) = query.filters["product"]
    return product


def _bytes(row: Item) -> int:
    """Return a row's size as DynamoDB counts it: names and values, numbers about as written."""
    return sum(len(name) + len(next(iter(row[name].values())).encode()) for name in _MEASURED)


def _partition_bytes(product: str) -> int:
    return len(ALL.partition_key) + len(ALL.partition_of({"product": product}).encode())
