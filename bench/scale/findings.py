"""The questions asked of the simulation, and the tables of its answers."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from bench.scale import boards, demand, limits
from bench.scale.buckets import Limit
from bench.scale.demand import AFTER, BEFORE, BY_LAMBDA, Way
from bench.scale.requests import refused
from bench.scale.search import UNREFUSED, Found, greatest
from bench.scale.shop import (
    COMMENTS,
    Zipf,
    comments,
    item_bytes,
    order_bytes,
    partitions,
    row_bytes,
)
from bench.scale.writers import Crowd, Simulation
from bench.speed.report import Section
from dal.entities.comment import COMMENT
from dal.query.access_paths import access_paths
from dal.query.access_patterns import query_of
from dal.query.cardinality import PageSpan
from dal.query.cost_model import capacity_of_bytes
from dal.query.optimizer import optimize
from dal.query.query import Filters
from dal.statistics import counter_items
from dal.statistics.counts import CommentStatistics, RatingCounts, StatisticsKey
from dal.statistics.row_locations import RowLocations
from dal.statistics.table_statistics import ProductStatistics
from dal.table.item import bytes_of
from dal.table.ranges import UNBOUNDED

SHARDS = (1, 4, 16)
PAGE = 20
_RUNS = 3
_SETTLED_SECONDS = 8.0
"""Of a run at least: pauses after conflicts and throttling are up to a second long."""

_COUNTED_SECONDS = 10.0
"""How long a comment may wait until Lambda has counted it."""

PRODUCT = frozenset({"p"})

_SHOWN: Mapping[str, Filters] = {
    "all": {"product": PRODUCT},
    "one rating": {"product": PRODUCT, "rating": frozenset({"5"})},
    "three ratings": {"product": PRODUCT, "rating": frozenset({"1", "3", "5"})},
    "one rating in one language": {
        "product": PRODUCT,
        "rating": frozenset({"1"}),
        "language": frozenset({"en"}),
    },
}


_COLUMNS = ("what", "how", "a second", "the limit met first", "what moves it")


def _of(shards: int) -> str:
    return "1 shard" if shards == 1 else f"{shards} shards"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is simulated: ``servers``, about how many ``events`` a run, and the ``seed``."""

    servers: int = 8
    events: int = 4_000
    seed: int = 9

    def seconds(self, rate: float) -> float:
        """Return how long to simulate some rate."""
        return min(60.0, max(3.0, self.events / rate))


def sections(effort: Effort, step: Callable[[str], None]) -> Iterator[Section]:
    """Yield the tables; ``step`` is told of each question that is answered."""
    yield _writing(effort, step)
    yield _reading(effort, step)
    yield _pages()
    yield _sizes()


# --- writing ---


def _writing(effort: Effort, step: Callable[[str], None]) -> Section:
    rows = []
    for what, how, answer in _WRITING:
        found = answer(effort)
        step(what)
        rows.append((what, how, _rate(found), found.limit, _MOVED_BY[found.limit]))
    return Section("Writing: what is kept up", _COLUMNS, rows, names=2)


def _written(
    way: Way, effort: Effort, *, servers: int | None = None, law: Zipf | None = None
) -> Found:
    """Return how many comments a second servers write; without a law they are of one product."""
    return _kept_up(Crowd(way, servers or effort.servers, law), effort)


def _counted(effort: Effort, shards: int) -> Found:
    way = replace(BY_LAMBDA, counter_shards=shards)
    return _kept_up(Crowd(way, partitions(), polls=True, patience=_COUNTED_SECONDS), effort)


def _kept_up(crowd: Crowd, effort: Effort) -> Found:
    def beyond(rate: float) -> Mapping[str, int] | None:
        """Ask three runs: which comment is late is chance, and two of them decide."""
        seconds = max(_SETTLED_SECONDS, 3 * crowd.patience, effort.seconds(rate))
        fell_behind = list[Mapping[str, int]]()
        for run in range(_RUNS):
            tally = Simulation(crowd, rate, seconds, effort.seed + run).run()
            if not tally.kept_up:
                fell_behind.append(tally.refused)
            if len(fell_behind) > _RUNS // 2:
                return fell_behind[-1]
            if run - len(fell_behind) >= _RUNS // 2:
                return None
        return None

    return greatest(beyond, 5)


def _put(way: Way, effort: Effort) -> Found:
    """Return how many comments of one product a second are written without a transaction."""
    rows = comments(Random(effort.seed))  # noqa: S311 - a simulation, not secrets

    def put(number: int) -> Mapping[Limit, float]:
        return demand.put(way, 1, [next(rows)], number)

    return _unrefused(put, effort)


def _unrefused(asked: Callable[[int], Mapping[Limit, float]], effort: Effort) -> Found:
    def beyond(rate: float) -> Mapping[str, int] | None:
        return refused(asked, rate, max(2.0, effort.seconds(rate)), effort.seed) or None

    return greatest(beyond, 5)


def _board(effort: Effort) -> Found:
    def beyond(rate: float) -> Mapping[str, int] | None:
        return boards.refused(rate, effort.servers, effort.seed, law=Zipf())

    return greatest(beyond, 50)


_SHOP, _HOT = "comments of the whole shop", "comments of one product"

_WRITING: Sequence[tuple[str, str, Callable[[Effort], Found]]] = (
    (_SHOP, "before", partial(_written, BEFORE, law=Zipf())),
    (_SHOP, "after", partial(_written, AFTER, law=Zipf())),
    (
        _SHOP,
        "after, 4 shards of the counters",
        partial(_written, replace(AFTER, counter_shards=4), law=Zipf()),
    ),
    (_SHOP, "after: the board keeps up", _board),
    (_HOT, "before", partial(_written, BEFORE)),
    (_HOT, "before, one server", partial(_written, BEFORE, servers=1)),
    *(
        (_HOT, f"after, {_of(shards)}", partial(_written, replace(AFTER, shards=shards)))
        for shards in SHARDS
    ),
    *(
        (
            _HOT,
            f"after, {_of(shards)}, one server",
            partial(_written, replace(AFTER, shards=shards), servers=1),
        )
        for shards in SHARDS
    ),
    *(
        (
            _HOT,
            f"after, {_of(shards)}, of the counters too",
            partial(_written, replace(AFTER, shards=shards, counter_shards=shards)),
        )
        for shards in SHARDS[1:]
    ),
    *(
        (_HOT, f"stream mode, {_of(shards)}", partial(_put, replace(AFTER, shards=shards)))
        for shards in SHARDS
    ),
    *(
        (_HOT, f"stream mode: counted by Lambda, {_of(shards)}", partial(_counted, shards=shards))
        for shards in SHARDS
    ),
)

QUESTIONS = len(_WRITING) + 2 * len(SHARDS)
"""How many steps the tables take."""


# --- reading ---


def _reading(effort: Effort, step: Callable[[str], None]) -> Section:
    asked = [
        (f"newest {PAGE} of one product", _of(shards), _pages_read(shards, effort))
        for shards in SHARDS
    ]
    asked += [
        ("statistics of one product", _of(shards), _counts_read(shards, effort))
        for shards in SHARDS
    ]
    rows = []
    for what, how, found in asked:
        step(what)
        rows.append((what, how, _rate(found), found.limit, _MOVED_BY[found.limit]))
    return Section("Reading: what is kept up", _COLUMNS, rows, names=2)


def _counts_read(shards: int, effort: Effort) -> Found:
    statistics = Limit(_COUNTS_READ, 1, limits.PARTITION_RCU)
    units = counts_capacity(shards)
    return _unrefused(lambda _: {statistics: units}, effort)


def counts_capacity(shards: int) -> float:
    """Return the RCU of a consistent Query of the counters of a large product."""
    parts = [None] if shards == 1 else range(shards)
    items = [
        counter_items.encode(StatisticsKey("B000G6RYNE", language, shard=part), counts)
        for language, counts in _counts().by_language.items()
        for part in parts
    ]
    return 2 * capacity_of_bytes(sum(bytes_of(item, item) for item in items))


def _pages_read(shards: int, effort: Effort) -> Found:
    capacity = page_capacity(shards, _SHOWN["all"])
    asked = {
        Limit(demand.LIST, shard, limits.PARTITION_RCU): units
        for shard, units in enumerate(capacity)
    }
    asked[Limit(demand.INDEX, "all", limits.TABLE_UNITS)] = sum(capacity)
    return _unrefused(lambda _: asked, effort)


def page_capacity(shards: int, filters: Filters) -> list[float]:
    """Return the RCU of each Query of a page, as the optimizer plans it for a large product."""
    indexes = [replace(index, shards=shards) for index in COMMENT.indexes]
    paths = access_paths(indexes, query_of(filters))
    size = row_bytes()
    statistics = ProductStatistics(_counts(), size, RowLocations())
    plan = optimize(paths, PageSpan(UNBOUNDED, PAGE, descending=True), statistics)
    return [capacity_of_bytes(math.ceil(segment.limit * size)) for segment in plan.segments]


def _counts() -> CommentStatistics:
    """Return the counts of the product with the most comments."""
    most = round(Zipf().share(1) * COMMENTS)
    by_rating = [most * part // 100 for part in (6, 4, 7, 13, 70)]
    shares = {"en": 60, "de": 25, "fr": 15}
    by_language = {
        language: RatingCounts(tuple(count * part // 100 for count in by_rating))
        for language, part in shares.items()
    }
    return CommentStatistics(RatingCounts(tuple(by_rating)), by_language)


def _pages() -> Section:
    rows = []
    for name, filters in _SHOWN.items():
        for shards in SHARDS:
            capacity = page_capacity(shards, filters)
            rows.append((name, str(shards), str(len(capacity)), f"{sum(capacity):.1f}"))
    title = f"A page of the newest {PAGE}, as it is planned for the most commented product"
    return Section(title, ("filter", "shards", "requests", "RCU"), rows)


def _sizes() -> Section:
    most = Zipf().share(1) * COMMENTS
    rows = (
        ("items of all comments", f"{COMMENTS * item_bytes() / 1e9:,.0f} GB"),
        ("their partitions, and shards of their stream, at least", f"{partitions()}"),
        ("the longest list: it has no local index, so it may be as long", _gigabytes(most)),
        ("the longest list in one of 16 shards", _gigabytes(most / 16)),
        (
            "orders of one user that fit an item collection of 10 GB, local indexes included",
            f"{limits.COLLECTION_BYTES / order_bytes():,.0f}",
        ),
    )
    return Section("Sizes", ("what", "how much"), rows)


def _gigabytes(rows: float) -> str:
    return f"{rows * row_bytes() / 1e9:.1f} GB"


# --- words ---

_COUNTS_READ = "a product's counters, read"

_MOVED_BY = {
    demand.BOARD: "moves of several changes at once, later; comments do not wait for them then",
    boards.PACE: "nothing need be: the board lags, comments do not wait; `MOST_AT_ONCE`",
    demand.CONFLICTS: "fewer servers for a product; stream mode; shards of the counters",
    demand.COUNTERS: "fewer servers for a product; stream mode",
    _COUNTS_READ: "answers kept by a cache or a CDN",
    demand.INDEX: "a higher quota, on request",
    demand.LIST: "more shards",
    demand.TABLE: "a higher quota, on request",
    UNREFUSED: "more servers, with shards of the counters",
}


def _rate(found: Found) -> str:
    digits = max(0, math.floor(math.log10(found.rate)) - 1)
    return f"{round(found.rate, -digits):,.0f}"
