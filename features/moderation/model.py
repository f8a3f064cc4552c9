"""Reports: a reader reports a published comment to the moderators."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MOST_READ = 100
"""Maximum number of one comment's reports that the server reads and counts."""


class ReportReason(StrEnum):
    """Why a reader reports a comment."""

    SPAM = "SPAM"
    OFFENSIVE = "OFFENSIVE"
    OFF_TOPIC = "OFF_TOPIC"
    PRIVATE = "PRIVATE"
    OTHER = "OTHER"


@dataclass(frozen=True, slots=True)
class Report:
    """A user's report of a comment."""

    comment_id: str
    product_id: str
    username: str
    """The user who reports the comment."""
    reason: ReportReason
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """The number of a comment's reports that give one reason."""

    reason: ReportReason
    count: int


@dataclass(frozen=True, slots=True)
class CommentReports:
    """Up to MOST_READ reports of a comment, oldest first.

    ``complete`` is False if the comment may have more reports. In this case, ``reports`` contains
    the reports of the first users in the order of their names, not the oldest reports.
    """

    reports: Sequence[Report]
    complete: bool

    @property
    def total(self) -> int | None:
        """The number of reports; None if there may be more than MOST_READ."""
        return len(self.reports) if self.complete else None

    @property
    def reasons(self) -> list[ReasonCount]:
        """The number of these reports for each reason, the most frequent reason first."""
        counted = Counter(report.reason for report in self.reports)
        return [ReasonCount(reason, count) for reason, count in counted.most_common()]
