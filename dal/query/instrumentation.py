"""Instrumentation of reading: who is told of plans and their segments. Mostly nobody."""

from collections.abc import Awaitable
from contextvars import ContextVar
from typing import Protocol, TypeVar

from dal.query.execution_stats import ExecutionStatistics, SegmentStatistics
from dal.query.plan import Plan, Segment

Result = TypeVar("Result")


class ReadInstruments(Protocol):
    """Is told how pages are read; what that has cost stands in the statistics at the end."""

    async def plan(
        self, plan: Plan, stats: ExecutionStatistics, reading: Awaitable[Result]
    ) -> Result:
        """Await the reading of rows by one plan; ``stats`` are of the whole page."""

    def segment(
        self, segment: Segment, read: SegmentStatistics, asking: Awaitable[Result]
    ) -> Awaitable[Result]:
        """Return one ask for rows of a segment; ``read`` has what it has read so far."""


READ_INSTRUMENTS: ContextVar[ReadInstruments | None] = ContextVar("read_instruments", default=None)
"""Who is told of the work under way, set by whoever serves a client."""
