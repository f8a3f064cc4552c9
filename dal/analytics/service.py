"""Answers questions by a store, within bounds: so many at once, for so long, each once."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from cachetools import LRUCache

from dal.analytics.errors import (
    BUSY,
    NOT_FILLED,
    NOT_SET_UP,
    SLOW,
    AnalyticsMissingError,
    AnalyticsUnavailableError,
)
from dal.analytics.periods import (
    Period,
    Span,
    number_of,
    period,
    refuse_many,
    start_of,
)
from dal.analytics.questions import (
    Mover,
    Movers,
    MoversQuestion,
    Source,
    Totals,
    Trend,
    TrendPoint,
    TrendQuestion,
)
from dal.analytics.store import AnalyticsStore, Export, Question
from dal.errors import InvalidArgumentError
from dal.limits import MAX_POINTS, MAX_WAITING_QUESTIONS
from dal.model import Product

DEADLINE = 5.0
"""Seconds that a question may take."""

KEPT = 1000
"""Answers that are kept while the store holds the same."""

OpenStore = Callable[[], Awaitable[AnalyticsStore]]


class Analytics:
    """The questions over one store, which is opened for the first; without one, none is answered.

    Every question raises AnalyticsUnavailableError where the store cannot answer it.
    """

    def __init__(self, open_store: OpenStore | None = None) -> None:
        self._open = open_store
        self._opening = asyncio.Lock()
        self._store: AnalyticsStore | None = None
        self._running = 0
        self._kept: LRUCache[object, Any] = LRUCache(KEPT)

    async def trend(self, question: TrendQuestion) -> Trend:
        """Return a product's comments over time, in whole periods without a gap.

        An open end is the last period with a comment; an open beginning the first one, and no more
        than a trend may have before the end. InvalidArgumentError where there are more.
        """
        async with self._asking() as asked:
            key = question, asked.export
            if key not in self._kept:
                self._kept[key] = await _trend(asked, question)
            return self._kept[key]  # type: ignore[no-any-return]

    async def movers(self, question: MoversQuestion) -> Movers:
        """Return the products that moved most between two periods.

        InvalidArgumentError unless the earlier one lies before the later one.
        """
        async with self._asking() as asked:
            key = question, asked.export
            if key not in self._kept:
                self._kept[key] = await _movers(asked, question)
            return self._kept[key]  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Let go of the store."""
        if self._store is not None:
            await self._store.close()

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator["_Asked"]:
        if self._running >= MAX_WAITING_QUESTIONS:
            raise AnalyticsUnavailableError(BUSY)
        self._running += 1
        try:
            async with asyncio.timeout(DEADLINE):
                yield await self._asked()
        except TimeoutError:
            raise AnalyticsUnavailableError(SLOW) from None
        finally:
            self._running -= 1

    async def _asked(self) -> "_Asked":
        if self._open is None:
            raise AnalyticsUnavailableError(NOT_SET_UP)
        async with self._opening:
            if self._store is None:
                self._store = await self._open()
        export = await self._store.export()
        if export is None:
            raise AnalyticsMissingError(NOT_FILLED)
        return _Asked(self._store, export)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A store with the export that it held when the question came."""

    store: AnalyticsStore
    export: Export

    async def rows(self, question: Question) -> tuple[Sequence[Sequence[Any]], Source]:
        """Return the rows of a question, and where they come from."""
        started = time.perf_counter()
        result = await self.store.ask(question, self.export)
        took = (time.perf_counter() - started) * 1000
        return result.rows, Source(
            self.store.name, result.sql, self.export.rows, result.rows_read, took
        )


async def _trend(asked: _Asked, question: TrendQuestion) -> Trend:
    from dal.analytics import queries  # noqa: PLC0415 - sqlglot takes a tenth of a second to import

    span = question.span
    bounds = (
        None if span.first is None else start_of(span.interval, span.first),
        None if span.last is None else start_of(span.interval, span.last + 1),
    )
    rows, source = await asked.rows(
        lambda comments: queries.trend(
            comments, question.product_id, span.interval, bounds, question.languages
        )
    )
    counts = {
        number_of(span.interval, _instant(start)): tuple(map(int, counts))
        for start, *counts in rows
    }
    points = [
        TrendPoint(start_of(span.interval, number), *[counts[number]] if number in counts else ())
        for number in _numbers(span, counts)
    ]
    return Trend(span.interval, points, asked.export.began, source)


def _numbers(span: Span, found: dict[int, Any]) -> range:
    """Return the numbers of a trend's points."""
    last = max(found, default=None) if span.last is None else span.last
    first = span.first
    if last is None:
        return range(0) if first is None else range(first, first)
    if first is None:
        first = max(min(found, default=last + 1), last - MAX_POINTS + 1)
    refuse_many(span.interval, last - first + 1)
    return range(first, last + 1)


async def _movers(asked: _Asked, question: MoversQuestion) -> Movers:
    from dal.analytics import queries  # noqa: PLC0415 - as above

    periods = _periods(question, asked.export.began)
    rows, source = await asked.rows(
        lambda comments: queries.movers(
            comments, question.by, periods, limit=question.limit, at_least=question.at_least
        )
    )
    products = [
        Mover(Product(product_id), Totals(*map(int, sums[:2])), Totals(*map(int, sums[2:])))
        for product_id, *sums in rows
    ]
    return Movers(*periods, products, asked.export.began, source)


def _periods(question: MoversQuestion, as_of: datetime) -> tuple[Period, Period]:
    """Return the two periods to compare."""
    interval, later = question.interval, number_of(question.interval, as_of) - 1
    if question.later is not None:
        later = number_of(interval, question.later)
    earlier = later - 1
    if question.earlier is not None:
        earlier = number_of(interval, question.earlier)
    if earlier >= later:
        raise InvalidArgumentError(
            "from",
            f"from must lie in an earlier {interval} than to: they are instants within the two "
            "periods that are compared.",
        )
    return period(interval, earlier), period(interval, later)


def _instant(start: str | date | datetime) -> datetime:
    """Return when a period of a row begins: a date, or the text of one, in UTC."""
    if isinstance(start, str):
        start = datetime.fromisoformat(start)
    return datetime(start.year, start.month, start.day, tzinfo=UTC)
