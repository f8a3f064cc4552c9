"""Reads a product's statistics, for clients and for plans.

Inexact statistics may be out of date. A query plan can use them, because they affect only the cost
of a page, not its rows: the executor reads each segment (a key range of one partition) until the
page is full or the segment ends. Exact statistics can prove that a segment is empty. Statistics are
exact if the query filters by counted fields only, and if

- they were read consistently, after the client requested the page,
- they count every comment of the table, and every write changes them in its own transaction
  (``mode`` explains how long a process can rely on this), and
- they are sound: no count is below 0, and every item's total is the sum of its counts.

Exact statistics count every comment whose write was acknowledged before the request.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from cachetools import LRUCache, TTLCache

from dal.counts import counter_items
from dal.counts.counter_items import SORT_KEYS, WITH_DETAILS, StoredCounts, stored_in
from dal.counts.counts import COUNTED_FIELDS, CommentStatistics, CounterRule
from dal.counts.mode import MaintenanceStore
from dal.dynamodb.concurrency import in_parallel
from dal.entities.comment import ALL, BOOLEANS, SEARCHED
from dal.entities.product import details_in
from dal.model import ProductDetails
from dal.model.languages import ranges_of
from dal.query.optimizer import CHECKED_ROWS, TableStatistics
from dal.query.plan import EqualityKey, Filters, Query, filters_of
from dal.query.row_locations import LocatedRow, RangeRead, RowLocations
from dal.query.statistics import ExecutionStatistics
from dal.table.entity import Row
from dal.table.index import TABLE, QueryRequest, RunQuery, Spend, query_all
from dal.table.items import Item, bytes_of
from dal.table.ranges import UNBOUNDED, Range

KEPT_SECONDS = 5.0
"""Seconds for which statistics are cached for planning."""

KEPT_PRODUCTS = 1_000
"""Maximum products with statistics that are cached for planning."""

MEASURED_PRODUCTS = 10_000
"""Maximum products with row sizes and dates in memory."""

KEPT_LOCATIONS = 200_000
"""Maximum rows and ranges in all products' row locations (see ``RowLocations``): about 36 MB."""

_SAMPLE = 8
"""The number of a product's newest rows that are read to estimate the mean size of its rows."""

_MOST_SAMPLED = 40
"""Maximum weight of the earlier rows, in rows, when new rows correct the share of a field's value.
With a maximum, the shares follow the rows that clients read lately."""

KEPT_SEARCHES = 1_000
"""Maximum searches with an estimated share in memory."""

_WEIGHT = 0.2
"""The weight of a page's mean row size in the moving average of a product's row sizes."""

_COMMON = tuple(name for name in ALL.attributes if name != ALL.partition_key)
"""The attributes that the rows of all indexes have. To give a row the same size in every index, the
partition key of ``all`` is measured instead of the index's own key."""


class _Share(NamedTuple):
    """The estimated share of rows, and the number of rows from which it is estimated."""

    share: float
    sampled: int

    def corrected(self, some: int, of: int) -> "_Share":
        """Return the share, corrected by ``of`` rows, of which ``some`` belong to the share."""
        share = (self.share * (self.sampled + 1) + some) / (self.sampled + of + 1)
        return _Share(share, min(self.sampled + of, _MOST_SAMPLED))


_UNKNOWN = _Share(0.5, 0)


@dataclass(slots=True)
class _Measured:
    """Estimates about a product's rows, from the rows that pages and samples have read."""

    row_bytes: float
    """The moving average of the rows' sizes."""
    shares: dict[str, float] = field(default_factory=dict)
    """For each field by which comments are not counted: the estimated share of comments with the
    value ``true`` in this field. Empty until rows have been read that no such field selected."""
    sampled: int = 0
    """The number of rows from which the shares are estimated, at most ``_MOST_SAMPLED``."""
    extent: tuple[str, str] = ("", "")
    """The positions of the oldest and the newest row, if a query with dates needed them."""

    def share(self, rows: Sequence[Row]) -> None:
        """Correct the shares by rows that no uncounted field selected.

        A share is never 0 or 1, because a few rows cannot prove that no row or every row has the
        value.
        """
        for name in BOOLEANS:
            of = ALL.packs[name]
            true = sum(["true" in of(row.item) for row in rows])
            before = _Share(self.shares.get(name, _UNKNOWN.share), self.sampled)
            self.shares[name] = before.corrected(true, len(rows)).share
        self.sampled = min(self.sampled + len(rows), _MOST_SAMPLED)


@dataclass(slots=True)
class _Recent:
    statistics: CommentStatistics | None = None
    """None while the statistics are being read."""


class StatisticsReader(CounterRule):
    """Reads statistics items.

    ``run`` is ``Table.query``. ``seen`` receives the product's id and its decoded items after each
    read.
    """

    def __init__(
        self,
        run: RunQuery,
        seen: Callable[[str, Sequence[StoredCounts]], None] = lambda _product_id, _stored: None,
    ) -> None:
        self._run = run
        self._seen = seen
        self._kept: TTLCache[str, _Recent] = TTLCache(KEPT_PRODUCTS, KEPT_SECONDS, time.monotonic)

    async def read(
        self, product_id: str, *, consistent: bool, spend: Spend | None = None
    ) -> CommentStatistics:
        """Return a product's statistics, by one Query.

        If the product has comments in more than 1,000 languages, more Queries follow. A
        ``consistent`` read includes every acknowledged change of the counters, and costs twice the
        capacity.
        """
        return (await self._read(product_id, SORT_KEYS, consistent=consistent, spend=spend))[0]

    async def read_with_details(self, product_id: str) -> tuple[CommentStatistics, ProductDetails]:
        """Return a product's statistics, read consistently, and its details, by one Query."""
        statistics, items = await self._read(product_id, WITH_DETAILS, consistent=True)
        return statistics, details_in(items).get(product_id, ProductDetails())

    async def _read(
        self, product_id: str, keys: Range, *, consistent: bool, spend: Spend | None = None
    ) -> tuple[CommentStatistics, list[Item]]:
        """Return a product's statistics, and all items within the range ``keys``."""
        partition = counter_items.partition_of(product_id)
        request = QueryRequest(TABLE, partition, keys, consistent=consistent)
        items: list[Item] = []
        async for answer in query_all(self._run, request):
            if spend is not None:
                spend(answer.capacity)
            items += answer.items
        stored = list(stored_in(items))
        self._seen(product_id, stored)
        return counter_items.statistics_of(stored), items

    async def recent(self, product_id: str, *, spend: Spend | None = None) -> CommentStatistics:
        """Return statistics that may be KEPT_SECONDS old.

        Only plans use these statistics. Clients get statistics from ``read``.
        """
        kept = self._kept.get(product_id)
        if kept is not None and kept.statistics is not None:
            return kept.statistics
        mine = self._kept[product_id] = _Recent()
        # If ``ended`` removes this entry while the statistics are being read, the statistics may
        # lack a write. So they are returned, but not cached.
        mine.statistics = await self.read(product_id, consistent=False, spend=spend)
        return mine.statistics

    def ended(self, products: Collection[str]) -> None:
        """Remove the cached statistics of products, because a write may have changed them."""
        for product_id in products:
            self._kept.pop(product_id, None)


class ProductStatisticsProvider:
    """Provides an executor with the statistics of comments: see ``StatisticsProvider``.

    ``run`` is ``Table.query``.
    """

    def __init__(
        self, run: RunQuery, reader: StatisticsReader, maintenance: MaintenanceStore
    ) -> None:
        self._run = run
        self._reader = reader
        self._maintenance = maintenance
        self._measured: LRUCache[str, _Measured] = LRUCache(MEASURED_PRODUCTS)
        self.locations: LRUCache[str, RowLocations] = LRUCache(KEPT_LOCATIONS, RowLocations.weight)
        self._searched: LRUCache[tuple[frozenset[str], str], _Share] = LRUCache(KEPT_SEARCHES)
        """The share of the rows that match each search, by the list's products and the search."""

    async def inexact(self, query: Query, spent: ExecutionStatistics) -> TableStatistics | None:
        """Return statistics that may be some seconds old.

        Return None if the counts are zero, or if the table has no row of the product.

        For a list of several products, the row size and the dates are those of the product with the
        most comments, and there are no row locations.
        """
        products = query.filters["product"]
        recent = [self._reader.recent(one, spend=spent.spend_planning) for one in products]
        counts = dict(zip(products, await in_parallel(recent), strict=True))
        totals = {one: counts[one].total for one in sorted(counts)}
        product = max(totals, key=totals.__getitem__, default="")
        if not product or not totals[product]:
            return None
        measured = self._measured.get(product)
        uncounted = query.filters.keys() & BOOLEANS
        if measured is None or (uncounted and not measured.shares):
            newest = await self._sample(product, spent, _SAMPLE, descending=True)
            measured = self._weigh(product, [_bytes(row, product) for row in newest])
            if measured is None:  # the counts are wrong: the sample found no row
                return None
            measured.share(newest)
        if query.within != UNBOUNDED and not measured.extent[0]:
            first = await self._sample(product, spent, 1, descending=True)
            oldest = await self._sample(product, spent, 1, descending=False)
            if first and oldest:
                measured.extent = oldest[0].position, first[0].position
        # Row locations are remembered only for filters by counted fields.
        located = len(products) == 1 and query.filters.keys() <= COUNTED_FIELDS
        locations = self.locations.get(product) if located else None

        def of_all(filters: Filters) -> int:
            return sum([counts[one].cardinality(filters) for one in filters["product"]])

        held = counts[product].cardinality if len(products) == 1 else of_all
        shares = dict(measured.shares)
        for search in query.filters.get(SEARCHED, ()):
            shares[SEARCHED] = self._searched.get((products, search), _UNKNOWN).share
        extent = measured.extent if query.within != UNBOUNDED else ("", "")
        return TableStatistics(held, measured.row_bytes, locations, *extent, shares)

    async def empty(
        self, query: Query, keys: Sequence[EqualityKey], spent: ExecutionStatistics
    ) -> Collection[EqualityKey]:
        """Return those ``keys`` for which exact counts prove that no comment has their values.

        Return no key if the counts are inexact, or if the list has several products. For several
        products, reading exact counts would cost more than reading empty segments.
        """
        product, *others = query.filters["product"]
        if others or not (await self._maintenance.current()).exact:
            return ()
        counts = await self._reader.read(product, consistent=True, spend=spent.spend)
        counted = [key for key in keys if _counted(key) and counts.sound]
        return {key for key in counted if not counts.cardinality(filters_of(key))}

    def observe(self, query: Query, reads: Sequence[RangeRead]) -> None:
        """Remember the sizes and positions of the rows that a page has read."""
        for product in query.filters["product"]:
            of = ("product", product)
            self._observe(product, [read for read in reads if of in read.key])
        for search in query.filters.get(SEARCHED, ()):
            key, has = (query.filters["product"], search), ALL.searches[SEARCHED]
            rows = list(islice(chain.from_iterable(one.rows for one in reads), CHECKED_ROWS))
            matching = sum([has(row.item, search) for row in rows])
            before = self._searched.get(key, _UNKNOWN)
            self._searched[key] = before.corrected(matching, len(rows))

    def _observe(self, product: str, reads: Sequence[RangeRead]) -> None:
        locations = self.locations.get(product) or RowLocations()
        sizes, some = list[int](), list[Row]()
        for read in reads:
            known = locations.among(read.key, read.range)
            if known is not None and known[0] == sorted([row.position for row in read.rows]):
                sizes += known[1]  # the usual case: an earlier page has read the same rows
                continue
            rows = [_located(row, product) for row in read.rows]
            sizes += [row.size for row in rows]
            if _counted(read.key):
                locations.note(read.key, read.range, rows)
                some += read.rows
        self.locations[product] = locations
        measured = self._weigh(product, sizes)
        if measured is not None and some:
            measured.share(some)
        if measured is not None and measured.extent[0]:  # rows may be newer than the sample
            ends = [row.position for read in reads for row in (*read.rows[:1], *read.rows[-1:])]
            ends += measured.extent
            measured.extent = min(ends), max(ends)

    def _weigh(self, product: str, sizes: Sequence[int]) -> _Measured | None:
        measured = self._measured.get(product)
        if sizes:
            mean = sum(sizes) / len(sizes)
            if measured is None:
                measured = self._measured[product] = _Measured(mean)
            measured.row_bytes += _WEIGHT * (mean - measured.row_bytes)
        return measured

    async def _sample(
        self, product: str, spent: ExecutionStatistics, count: int, *, descending: bool
    ) -> Sequence[Row]:
        """Return a product's newest rows if ``descending`` is true, otherwise its oldest rows."""
        request = QueryRequest(
            ALL, ALL.partition_of({"product": product}), descending=descending, limit=count
        )
        answer = await self._run(request)
        spent.spend_planning(answer.capacity)
        return [Row(item[ALL.sort_key]["S"], item, {"product": product}) for item in answer.items]


def _counted(key: EqualityKey) -> bool:
    return all(name in COUNTED_FIELDS for name, _ in key)


def _located(row: Row, product: str) -> LocatedRow:
    values = _values(product, row.item["language"]["S"], row.item["rating"]["N"])
    return LocatedRow(row.position, values, _bytes(row, product))


# A product's rows have few different values. With the cache, rows with equal values share one set.
@lru_cache(maxsize=10_000)
def _values(product: str, tag: str, rating: str) -> EqualityKey:
    values = {("product", product), ("rating", rating)}
    ranges = ranges_of(tag)
    values |= {("language", ranges[0]), *(("locale", one) for one in ranges[1:2])}
    return frozenset(values | {("tag", one) for one in ranges})


def _bytes(row: Row, product: str) -> int:
    """Return a row's size in bytes as DynamoDB counts it: attribute names and values.

    The size of numbers is approximate.
    """
    return bytes_of(row.item, _COMMON) + _partition_bytes(product)


@lru_cache(maxsize=1_000)
def _partition_bytes(product: str) -> int:
    return len(ALL.partition_key) + len(ALL.partition_of({"product": product}).encode())
