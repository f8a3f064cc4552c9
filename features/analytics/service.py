"""Answers questions with an analytics store.

The service limits the number of running questions and their time, and caches the results.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, ClassVar, TypeVar

from cachetools import LRUCache

from dal.dynamodb.concurrency import SharedReads
from dal.model import Product
from dal.table.errors import InvalidArgumentError
from features.analytics.errors import (
    BUSY,
    NOT_FILLED,
    NOT_SET_UP,
    SLOW,
    AnalyticsMissingError,
    AnalyticsUnavailableError,
)
from features.analytics.questions import (
    MAX_POINTS,
    Mover,
    Movers,
    MoversQuestion,
    Source,
    Span,
    Totals,
    Trend,
    TrendPoint,
    TrendQuestion,
    number_of,
    period,
    refuse_many,
    start_of,
)
from features.analytics.store import AnalyticsStore, Export, Question

MAX_WAITING_QUESTIONS = 16
"""Maximum number of different questions that a process asks the analytics store at the same time,
for all clients together."""

DEADLINE = 5.0
"""Seconds after which a question fails."""

KEPT = 1000
"""Maximum cached results. A result is valid until the next export."""

OpenStore = Callable[[], Coroutine[Any, Any, AnalyticsStore]]

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Analytics:
    """Answers questions with one store. ``start`` or the first question opens the store.

    ``trend`` and ``movers`` raise AnalyticsUnavailableError in three cases: no store with data
    exists, the store fails or is too slow, or too many questions are running.
    """

    missing: ClassVar[str] = NOT_SET_UP

    def __init__(
        self, open_store: OpenStore, may_be_filled: Callable[[], bool] = lambda: True
    ) -> None:
        self._open = open_store
        self.may_be_filled = may_be_filled
        """Returns whether the store may have data. If not, all questions fail."""
        self._opening: asyncio.Task[AnalyticsStore] | None = None
        self._free = asyncio.Semaphore(MAX_WAITING_QUESTIONS)
        self._kept: LRUCache[object, Any] = LRUCache(KEPT)
        self._shared = SharedReads[Any]()

    async def trend(self, question: TrendQuestion) -> Trend:
        """Return a product's comments over time, with a point for each period.

        If the question has no end, the trend ends with the last period that has a comment. If the
        question has no start, the trend begins with the first period that has a comment.

        If the trend would have more than MAX_POINTS periods, the result depends on the start.
        Without a start, the trend contains only the last MAX_POINTS periods. With a start, this
        method raises InvalidArgumentError.
        """
        return await self._answer(question, _trend)

    async def movers(self, question: MoversQuestion) -> Movers:
        """Return the products that changed most between two periods.

        Raises InvalidArgumentError if the earlier period is not before the later period.
        """
        return await self._answer(question, _movers)

    def start(self) -> "asyncio.Task[AnalyticsStore]":
        """Begin to open the store, so that the first question does not have to wait.

        Return the task that opens the store. If an earlier attempt has failed, start a new one.
        """
        opening = self._opening
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception())):
            opening = self._opening = asyncio.create_task(self._open())
        return opening

    async def aclose(self) -> None:
        """Close the store."""
        if self._opening is None or self._opening.cancel():
            return
        if not self._opening.cancelled() and self._opening.exception() is None:
            await self._opening.result().aclose()

    async def _answer(
        self, question: Asked, ask: Callable[[Asked, AnalyticsStore, Export], Awaitable[Answer]]
    ) -> Answer:
        async def answer() -> Answer:
            if self._free.locked():
                raise AnalyticsUnavailableError(BUSY)
            async with self._free:
                return await ask(question, store, export)

        try:
            async with asyncio.timeout(DEADLINE):
                # Other questions can wait for the same task, so a cancelled question must not
                # cancel this task.
                store = await asyncio.shield(self.start())
                if (export := await self._shared.read(None, store.export)) is None:
                    raise AnalyticsMissingError(NOT_FILLED)
                key = question, export
                if key not in self._kept:
                    self._kept[key] = await self._shared.read(key, answer)
                return self._kept[key]  # type: ignore[no-any-return]
        except TimeoutError:
            raise AnalyticsUnavailableError(SLOW) from None


async def _rows(
    question: Question, store: AnalyticsStore, export: Export
) -> tuple[Sequence[Sequence[Any]], Source]:
    """Return the rows that answer a question, and their source."""
    started = time.perf_counter()
    result = await store.ask(question, export)
    took = (time.perf_counter() - started) * 1000
    return result.rows, Source(store.name, result.sql, export.rows, result.rows_read, took)


async def _trend(question: TrendQuestion, store: AnalyticsStore, export: Export) -> Trend:
    from features.analytics import sql  # noqa: PLC0415 - importing sqlglot takes 0.1 s

    span = question.span
    bounds = (
        None if span.first is None else start_of(span.interval, span.first),
        None if span.last is None else start_of(span.interval, span.last + 1),
    )

    ask = partial(sql.trend, question=question, period=bounds)
    rows, source = await _rows(ask, store, export)
    counts = {
        number_of(span.interval, _instant(start)): tuple(map(int, counts))
        for start, *counts in rows
    }
    points = [
        TrendPoint(start_of(span.interval, number), *[counts[number]] if number in counts else ())
        for number in _numbers(span, counts)
    ]
    return Trend(span.interval, points, export.began, source)


def _numbers(span: Span, found: dict[int, Any]) -> range:
    """Return the numbers of the periods for which a trend has points."""
    last = max(found, default=None) if span.last is None else span.last
    first = span.first
    if last is None:
        return range(0) if first is None else range(first, first)
    if first is None:
        first = max(min(found, default=last + 1), last - MAX_POINTS + 1)
    refuse_many(span.interval, last - first + 1)
    return range(first, last + 1)


async def _movers(question: MoversQuestion, store: AnalyticsStore, export: Export) -> Movers:
    from features.analytics import sql  # noqa: PLC0415 - see _trend

    interval = question.interval
    later = number_of(interval, question.later or export.began)
    if question.later is None:
        later -= 1
    earlier = later - 1 if question.earlier is None else number_of(interval, question.earlier)
    if earlier >= later:
        raise InvalidArgumentError(
            "from",
            f"`from` must be in an earlier {interval} than `to`: `from` selects the first of the "
            "two periods to compare, and `to` the second.",
        )
    periods = period(interval, earlier), period(interval, later)

    ask = partial(sql.movers, question=question, periods=periods)
    rows, source = await _rows(ask, store, export)
    products = [
        Mover(Product(product_id), Totals(*map(int, sums[:2])), Totals(*map(int, sums[2:])))
        for product_id, *sums in rows
    ]
    return Movers(*periods, products, export.began, source)


def _instant(start: str | date | datetime) -> datetime:
    """Return a period's start, from a row of the store, as a datetime in UTC.

    In rows from DuckDB, ``start`` is a date or a datetime. In rows from ClickHouse, it is a text.
    """
    if isinstance(start, str):
        start = datetime.fromisoformat(start)
    return datetime(start.year, start.month, start.day, tzinfo=UTC)
