"""Reports: readers' objections to published comments."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MOST_READ = 100
"""The most reports of a comment that are read or counted."""


class ReportReason(StrEnum):
    """Why a reader reports a comment."""

    SPAM = "SPAM"
    OFFENSIVE = "OFFENSIVE"
    OFF_TOPIC = "OFF_TOPIC"
    PRIVATE = "PRIVATE"
    OTHER = "OTHER"


@dataclass(frozen=True, slots=True)
class Report:
    """A person's report of a comment."""

    comment_id: str
    product_id: str
    username: str
    """The person who reports."""
    reason: ReportReason
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """How many reports give a reason."""

    reason: ReportReason
    count: int


@dataclass(frozen=True, slots=True)
class CommentReports:
    """The reports of a comment, oldest first; the first MOST_READ by user name if there are more.

    ``complete`` is whether these are all.
    """

    reports: Sequence[Report]
    complete: bool

    @property
    def total(self) -> int | None:
        """How many there are; None if they are too many to count."""
        return len(self.reports) if self.complete else None

    @property
    def reasons(self) -> list[ReasonCount]:
        """The reasons, most frequent first."""
        counted = Counter(report.reason for report in self.reports)
        return [ReasonCount(reason, count) for reason, count in counted.most_common()]
