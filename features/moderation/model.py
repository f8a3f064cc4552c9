"""Reports by readers, the cases of reported comments, moderators' decisions and their queue."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from dal.model import Comment
from dal.model.submissions import Submission

MOST_READ = 100
"""Maximum number of one comment's reports that the server reads and counts."""

_TICK = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC) - _TICK


class Verdict(StrEnum):
    """What a moderator decides on a comment."""

    APPROVE = "APPROVE"
    REJECT = "REJECT"


class QueueKind(StrEnum):
    """The kinds of comments in a moderator's queue."""

    PENDING = "PENDING"
    REPORTED = "REPORTED"


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


@dataclass(frozen=True, slots=True)
class Decision:
    """A moderator's decision on a comment.

    ``seen`` identifies the version of the comment that the moderator saw. It is the time when that
    version was written: the time of an edit, or the comment's date. A rejection has a ``reason``,
    and an approval has no reason. ``by`` is the moderator's user name, or None after the
    moderator's data was erased.
    """

    by: str | None
    at: datetime
    seen: datetime
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """The case of a comment: the time when it was opened, and a moderator's latest decision.

    ``opened_at`` is None if the case is closed. An open case is ``hidden`` while its comment is not
    published. The queue of reported comments does not list hidden cases.

    ``reported_at`` is the time of the latest report. Each report changes it, so two requests that
    read the same case cannot both write.
    """

    comment_id: str
    opened_at: datetime | None = None
    decision: Decision | None = None
    hidden: bool = False
    reported_at: datetime | None = None

    @property
    def listed(self) -> bool:
        """Whether the queue of reported comments lists the comment."""
        return self.opened_at is not None and not self.hidden

    def approves(self, version: datetime) -> bool:
        """Return whether the latest decision approves the version written at ``version``."""
        decision = self.decision
        return decision is not None and decision.reason is None and decision.seen == version

    def undecided(self, report: Report) -> bool:
        """Return whether a report is newer than the latest decision; True without a decision."""
        return self.decision is None or report.at > self.decision.at

    def next_report_at(self) -> datetime:
        """Return the time of a report made now. It is later than all reports and the decision.

        The clocks of two servers may differ, so the present time may be too early.
        """
        earlier = [self.reported_at, self.decision.at if self.decision else None]
        later = (min(one, _LAST) + _TICK for one in earlier if one is not None)
        return max([datetime.now(UTC), *later])

    def decision_now(self, by: str, seen: datetime, reason: str | None = None) -> Decision:
        """Return a decision made now. It is later than all reports."""
        return Decision(by, max(datetime.now(UTC), self.reported_at or seen), seen, reason)


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A row of a moderators' queue: a submission, or a published comment that users reported.

    ``waiting_since`` is the submission's ``queued_at``, or the time of the first report on which no
    moderator has decided.
    """

    comment_id: str
    waiting_since: datetime
    submission: Submission | None = None
    comment: Comment | None = None
