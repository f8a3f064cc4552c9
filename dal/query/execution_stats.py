"""Execution statistics: what a page cost, by segment and in total."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dal.entities.entity import Row
from dal.query.plan import Plan
from dal.query.trace import Ask, Purpose, Step, Trace
from dal.table.ranges import Range
from dal.table.requests import QueryAnswer


@dataclass(slots=True)
class SegmentStatistics:
    """What was read of one segment; ``limit`` is the rows asked for at first."""

    partition_key: str
    sort_keys: Range
    limit: int
    skipped: bool
    items_read: int = 0
    requests: int = 0

    @property
    def range(self) -> str:
        """Its sort keys, in words."""
        return str(self.sort_keys)

    @property
    def refills(self) -> int:
        """How often the segment ran dry before the page was full."""
        return max(0, self.requests - 1)

    @property
    def skip_reason(self) -> str | None:
        """Why nothing was read of it; None where something was."""
        if not self.skipped:
            return None
        return "No key lies in the range." if self.sort_keys.empty else "The counts say: no row."


@dataclass(slots=True)
class ExecutionStatistics:
    """What one page cost: counts, and capacity in RCU (0.5 for each started 4 KB of a Query).

    Capacity is ``nan`` where the endpoint does not tell it.
    """

    access_pattern: str
    index: str = ""
    segments: list[SegmentStatistics] = field(default_factory=list)
    requests: int = 0
    items_read: int = 0
    consumed_capacity: float = 0.0
    estimated_capacity: float | None = None
    """What the optimizer expected, in RCU; None without statistics."""
    residual: list[str] = field(default_factory=list)
    """The fields whose filters were left to the rows read."""
    planning_requests: int = 0
    planning_capacity: float = 0.0
    """What was spent on inexact statistics, which serve the pages of some seconds."""
    trace: Trace | None = None
    """What became of each row; None unless the page is to be explained."""

    def begin(self, plan: Plan) -> None:
        """Note what the optimizer chose."""
        self.index = plan.index.name or "table"
        self.residual = sorted(plan.residual)
        self.estimated_capacity = plan.capacity
        if self.trace is not None:
            self.step(Purpose.PAGE, plan)

    def step(self, purpose: Purpose, plan: Plan) -> None:
        """Note a plan that is about to be carried out, if the page is to be explained."""
        if self.trace is not None:
            self.trace.steps.append(Step(purpose, plan))

    def note(
        self, segment: SegmentStatistics, rows: Sequence[Row], capacity: float, *, ended: bool
    ) -> None:
        """Note the rows of one Query, of a page that is to be explained."""
        if self.trace is not None:
            number = next(n for n, one in enumerate(self.segments) if one is segment)
            self.trace.asks.append(Ask(number, rows, capacity, ended))

    def spend_planning(self, capacity: float) -> None:
        """Add a Query for inexact statistics."""
        self.planning_requests += 1
        self.planning_capacity += capacity

    def spend(self, capacity: float) -> None:
        """Add a Query that read no row of the page."""
        self.requests += 1
        self.consumed_capacity += capacity

    def count(self, segment: SegmentStatistics, answer: QueryAnswer) -> None:
        """Add one Query's answer."""
        segment.items_read += len(answer.items)
        segment.requests += 1
        self.requests += 1
        self.items_read += len(answer.items)
        self.consumed_capacity += answer.capacity
