"""What a page cost: the plan as it was carried out, with counts and capacity."""

from dataclasses import dataclass, field

from dal.requests import QueryAnswer


@dataclass(slots=True)
class SegmentReading:
    """What was read of one segment; ``limit`` is the rows asked for at a time."""

    partition_key: str
    range: str
    limit: int
    skipped: bool
    items_read: int = 0


@dataclass(slots=True)
class Reading:
    """The account of one page: counts, and capacity in RCU (0.5 for each started 4 KB a Query)."""

    access_pattern: str
    index: str = ""
    segments: list[SegmentReading] = field(default_factory=list)
    requests: int = 0
    items_read: int = 0
    consumed_capacity: float = 0.0
    estimated_capacity: float | None = None
    """None while the planner has no statistics to estimate from."""

    def count(self, segment: SegmentReading, answer: QueryAnswer) -> None:
        """Add one Query's answer."""
        segment.items_read += len(answer.items)
        self.requests += 1
        self.items_read += len(answer.items)
        self.consumed_capacity += answer.capacity
