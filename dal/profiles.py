"""What the planner knows of a product's comments: its counts, and what it has read of it.

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
from functools import lru_cache

from dal.bounded import BoundedDict
from dal.counting import CountingStore
from dal.filters import Filters, Kind
from dal.indexes import ALL
from dal.items import Item
from dal.plans import Profile, Query
from dal.positions import Range
from dal.reading import Reading
from dal.requests import QueryRequest, RunQuery
from dal.statistics import Statistics
from dal.statistics_store import StatisticsStore
from dal.timelines import Seen, Sighting, Timeline

KEPT_PRODUCTS = 10_000
KEPT_TIMELINES = 100

_SAMPLE = 8
_WEIGHT = 0.2
"""How many rows are measured at first, and how much a page moves what was known."""

_MEASURED = {"PK": "S", "SK": "S", ALL.sort_key: "S", "rating": "N", "language": "S", "data": "S"}
"""What the rows of all indexes have in common; a partition key's bytes are counted as of ``all``,
so that a product's rows are of one size whichever index they were read from."""

_NAMES = sum(map(len, _MEASURED))


@dataclass(frozen=True, slots=True)
class CommentProfile:
    """The profile of one product's comments."""

    statistics: Statistics
    row_bytes: float
    timeline: Timeline
    proves_absence: bool = False

    def count(self, filters: Filters) -> int:
        """Return how many comments pass ``filters``."""
        ratings = filters.get("rating")
        return self.statistics.counts_of(
            filters.get("language"), None if ratings is None else [int(one) for one in ratings]
        )


class CommentProfiles:
    """Knows the products that were read lately. ``run`` is a table's ``query``."""

    def __init__(
        self,
        run: RunQuery,
        statistics: StatisticsStore,
        counting: CountingStore,
        *,
        timelines: int = KEPT_TIMELINES,
    ) -> None:
        self._run = run
        self._statistics = statistics
        self._counting = counting
        self._row_bytes: BoundedDict[str, float] = BoundedDict(KEPT_PRODUCTS)
        self._timelines: BoundedDict[str, Timeline] = BoundedDict(timelines)

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

    def learn(self, query: Query, seen: Sequence[Sighting]) -> None:
        """Take note of the rows that were read: their sizes, and where they stand."""
        product = _product_of(query)
        timeline = self._timelines.get(product) or Timeline()
        beside, sizes = _partition_bytes(product), list[int]()
        for sighting in seen:
            rows = [_seen(product, *row, beside) for row in sighting.rows]
            timeline.note(sighting.kind, sighting.range, rows)
            sizes += [row.size for row in rows]
        self._timelines[product] = timeline
        self._weigh(product, sizes)

    def _weigh(self, product: str, sizes: Sequence[int]) -> None:
        if sizes:
            mean = sum(sizes) / len(sizes)
            known = self._row_bytes.get(product, mean)
            self._row_bytes[product] = known + _WEIGHT * (mean - known)

    async def _sample(self, query: Query, reading: Reading) -> None:
        """Measure a product's newest rows, once: its first page is then planned as the others."""
        product = _product_of(query)
        request = QueryRequest(
            index=ALL.name,
            partition=(ALL.partition_key, ALL.partition_of({"product": product})),
            sort_key=ALL.sort_key,
            range=Range(),
            descending=True,
            limit=_SAMPLE,
        )
        answer = await self._run(request)
        reading.spend_planning(answer.capacity)
        beside = _partition_bytes(product)
        self._weigh(product, [_bytes(row) + beside for row in answer.items])

    def _profile(
        self, product: str, statistics: Statistics, *, proves_absence: bool = False
    ) -> CommentProfile | None:
        """Return what is known; None of a product that has no row yet, whatever is counted."""
        row_bytes = self._row_bytes.get(product)
        if row_bytes is None:
            return None
        timeline = self._timelines.get(product) or Timeline()
        return CommentProfile(statistics, row_bytes, timeline, proves_absence)


def _product_of(query: Query) -> str:
    (product,) = query.filters["product"]
    return product


def _seen(product: str, position: str, row: Item, beside: int) -> Seen:
    kind = _kind(product, row["language"]["S"], row["rating"]["N"])
    return Seen(position, kind, _bytes(row) + beside)


# The rows of a product are of few kinds: remembered rows share them.
@lru_cache(maxsize=10_000)
def _kind(product: str, language: str, rating: str) -> Kind:
    return frozenset({"product": product, "language": language, "rating": rating}.items())


def _bytes(row: Item) -> int:
    """Return a row's size as DynamoDB counts it: names and values, numbers about as written."""
    values = [row[name][type_] for name, type_ in _MEASURED.items()]
    return _NAMES + len("".join(values).encode())


def _partition_bytes(product: str) -> int:
    return len(ALL.partition_key) + len(ALL.partition_of({"product": product}).encode())
