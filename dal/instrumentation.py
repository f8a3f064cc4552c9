"""Instrumentation: what the store, page reads and the follower report for metrics and traces.

Each reports to an object in a context variable. None, the default, reports nothing.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")
Send = Callable[[], Awaitable[dict[str, Any]]]


class StoreInstruments(Protocol):
    """Observes requests to DynamoDB."""

    async def call(self, operation: str, arguments: dict[str, Any], send: Send) -> dict[str, Any]:
        """Await ``send``, one attempt at an operation, and return its response."""

    def retried(self, operation: str) -> None:
        """Note another attempt after one that failed."""


STORE_INSTRUMENTS: ContextVar[StoreInstruments | None] = ContextVar(
    "store_instruments", default=None
)


class ObservedIndex(Protocol):
    """The index of a plan."""

    @property
    def name(self) -> str | None:
        """None for the table itself."""


class ObservedSegment(Protocol):
    """A segment of a plan."""

    @property
    def key(self) -> Collection[tuple[str, str]]:
        """The fields that the segment's rows have in common, with their values."""


class ObservedPlan(Protocol):
    """What instruments see of ``dal.query``'s ``Plan``."""

    @property
    def access_pattern(self) -> str:
        """The name of the access pattern."""

    @property
    def index(self) -> ObservedIndex:
        """The index that the plan reads."""

    @property
    def segments(self) -> Sequence[ObservedSegment]:
        """The key ranges that the plan reads."""

    @property
    def residual(self) -> Collection[str]:
        """The fields with filters that are compared with the rows read."""

    @property
    def capacity(self) -> float | None:
        """The expected RCU; None without statistics."""


class SegmentCounts(Protocol):
    """Counts of one segment; they grow while the page is read."""

    items_read: int
    requests: int

    @property
    def skipped(self) -> bool:
        """Whether the plan skips the segment."""

    @property
    def refills(self) -> int:
        """Requests after the first."""


class ReadInstruments(Protocol):
    """Observes how pages are read."""

    async def plan(
        self, plan: ObservedPlan, counts: Sequence[SegmentCounts], reading: Awaitable[Result]
    ) -> Result:
        """Await the reading of a plan's rows; ``counts`` grows by the plan's segments meanwhile."""

    def segment(
        self, segment: ObservedSegment, counts: SegmentCounts, reading: Awaitable[Result]
    ) -> Awaitable[Result]:
        """Return ``reading``, which reads the next rows of a segment."""


READ_INSTRUMENTS: ContextVar[ReadInstruments | None] = ContextVar("read_instruments", default=None)


class FollowerInstruments(Protocol):
    """Observes what a follower of the table's stream applies."""

    def applied(self, made: datetime | None, now: datetime) -> None:
        """Note that a shard's records were applied; ``made`` is the newest one's time, if known."""

    def round(self, now: datetime, *, left: bool) -> None:
        """Note a round over all shards; ``left`` is True if a shard has unread records."""


FOLLOWER_INSTRUMENTS: ContextVar[FollowerInstruments | None] = ContextVar(
    "follower_instruments", default=None
)
