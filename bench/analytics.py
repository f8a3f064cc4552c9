"""What questions about all comments cost: a columnar store beside a scan of the table."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import duckdb

from analytics.change_log import ChangeLog, new_run
from analytics.periods import Interval, Span
from analytics.questions import MovedBy, Movers, MoversQuestion, Trend, TrendQuestion
from analytics.service import Analytics
from analytics.store import AnalyticsStore
from dal.model import Comment
from dal.repositories.comments import CommentRepository
from dal.table.client import Table
from dal.table.item import Item
from dal.table.parallel_scan import scan_all

FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)
YEARS = 5
EXPORTED = FIRST_DAY + timedelta(days=366 * YEARS)
BUSIEST = "product-0"
_LATER = datetime(2024, 6, 15, tzinfo=UTC)

# Four of ten comments are on a hundredth of the products, as in a shop; hash() is as good as dice.
_ROWS = """
COPY (
  SELECT 'c' || i AS id,
    'product-' || (hash(i) % CASE WHEN hash(i, 1) % 10 < 4 THEN products // 100 ELSE products END)
      AS product_id,
    (1 + hash(i, 2) % 5)::TINYINT AS rating,
    ['en', 'en', 'en', 'de', 'fr', 'pt-BR'][(1 + hash(i, 3) % 6)::INTEGER] AS language,
    TIMESTAMPTZ '2020-01-01 00:00:00+00'
      + to_seconds((hash(i, 4) % (86400 * 365 * {years}))::INTEGER) AS created_at
  FROM range({rows}) AS rows(i), (SELECT greatest(100, {rows} // 50) AS products)
) TO '{path}' (FORMAT parquet)
"""


def write_rows(path: Path, rows: int) -> None:
    """Write an export of so many comments, fifty a product on average, over five years."""
    with duckdb.connect(":memory:") as database:
        database.execute(_ROWS.format(years=YEARS, rows=rows, path=path))


@dataclass(frozen=True, slots=True)
class Measured:
    """A question's median seconds, and the rows that the store read for it."""

    seconds: float
    rows_read: int


Ask = Callable[[Analytics], Awaitable[Trend | Movers]]


def _trend(interval: Interval, language: str | None = None) -> Ask:
    languages = None if language is None else frozenset({language})
    # Every period of the five years by month and week; the last 400 days by day.
    question = TrendQuestion(BUSIEST, Span(interval), languages)
    return lambda analytics: analytics.trend(question)


def _movers(by: MovedBy) -> Ask:
    question = MoversQuestion(Interval.MONTH, by, later=_LATER, limit=20)
    return lambda analytics: analytics.movers(question)


QUESTIONS: Mapping[str, Ask] = {
    "trend by month": _trend(Interval.MONTH),
    "trend by week, one language": _trend(Interval.WEEK, "en"),
    "trend by day": _trend(Interval.DAY),
    "movers by volume": _movers(MovedBy.VOLUME),
    "movers by average": _movers(MovedBy.AVERAGE),
}


async def fill(store: AnalyticsStore, path: Path) -> float:
    """Fill a store with an export; return the seconds that it takes."""
    started = time.perf_counter()
    await store.fill(path, EXPORTED, "bench")
    return time.perf_counter() - started


async def change(store: AnalyticsStore, changes: int) -> None:
    """Lay so many edits over the export, each of another comment, as a follower would."""
    log = ChangeLog(store, new_run("bench", {}, EXPORTED - timedelta(hours=1)))
    for first in range(0, changes, 1_000):
        edits = [
            (f"c{number}", f"{number:040}", _edited(number))
            for number in range(first, min(changes, first + 1_000))
        ]
        await log.keep("shard", str(first), edits, done=False)
    await log.catch_up(EXPORTED)


async def measure(store: AnalyticsStore, ask: Ask, rounds: int) -> Measured:
    """Ask a question again and again, each time of a service that has kept no answer."""

    async def opened() -> AnalyticsStore:
        return store

    seconds, rows_read = [], 0
    for _ in range(rounds):
        analytics = Analytics(opened)
        started = time.perf_counter()
        rows_read = (await ask(analytics)).source.rows_read
        seconds.append(time.perf_counter() - started)
    return Measured(median(seconds), rows_read)


async def scanned(table: Table, rows: int) -> float:
    """Put so many comments into a table; return the seconds of one parallel scan of all of it."""
    store = CommentRepository(table)
    await store.put_many([_edited(number) for number in range(rows)])
    found = 0

    def take(items: Sequence[Item]) -> None:
        nonlocal found
        found += len(items)

    started = time.perf_counter()
    await scan_all(table, lambda _: None, take)
    seconds = time.perf_counter() - started
    if found < rows:
        raise RuntimeError(f"The scan found {found:,} items of {rows:,}.")
    return seconds


def _edited(number: int) -> Comment:
    return Comment(
        comment_id=f"c{number}",
        product_id=f"product-{number % 2_000}",
        username=f"user{number % 977}",
        rating=number % 5 + 1,
        language="en",
        title="A title",
        text="A text of some length. " * 8,
        created_at=FIRST_DAY + timedelta(minutes=number),
    )
