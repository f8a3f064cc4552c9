"""Reports of comments. After enough reports, a comment is unpublished until a moderator decides.

The first report opens the comment's case, which the moderators' queue lists. One transaction stores
a report with its effects. It also checks that the comment is published, and that no other request
has changed the case meanwhile. So a report is counted once, and the queue lists no comment that is
not published.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from dal.catalogue import AccessPattern
from dal.dynamodb import retries
from dal.dynamodb.concurrency import KeyedLocks
from dal.dynamodb.errors import ConditionFailedError
from dal.dynamodb.retries import retry_on_change
from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.entities.comment import COMMENT, comment_in, comment_key
from dal.entities.submission import encode
from dal.errors import NotFoundError
from dal.model import Comment
from dal.model.standings import Permission
from dal.model.submissions import ReviewCause, Submission, pending
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.query.plan import PlanBasis, Query
from dal.query.statistics import ExecutionStatistics
from dal.repositories.reactions import published
from dal.table.entity import Row
from dal.table.errors import InvalidArgumentError
from dal.table.items import ABSENT, Action, Item
from dal.table.ranges import Range
from dal.writes.changes import CommentChange
from dal.writes.comments import CommentWriter, Stored, version
from features.moderation.cases import THE_CASE, StoredCase, read_case, same_state
from features.moderation.entity import CASE, REPORTED, encode_report
from features.moderation.model import (
    Case,
    CommentReports,
    QueueEntry,
    QueueKind,
    Report,
    ReportReason,
)

PATTERN = AccessPattern(
    "AP15", "published comments with reports, longest waiting first", REPORTED, "state"
)
_REPORTED = Query(PATTERN.name, {"state": frozenset({QueueKind.REPORTED.value})})

_REPORT = 1
"""The number of the action that stores the report, in each transaction with a report."""

_READ_ON = 20
"""Minimum rows of each read after the first, for a page of the queue. The first read may return too
few rows for the page, because rows of comments that are not published are dropped."""


class ReportRepository:
    """Reads and writes reports. Lists of reports and cases are eventually consistent."""

    def __init__(self, table: Table, writes: CommentWriter) -> None:
        self._table = table
        self._writes = writes
        self._executor = Executor(table.query, CASE.indexes)
        self._comments = KeyedLocks()

    async def report(
        self,
        comment_id: str,
        username: str,
        reason: ReportReason,
        text: str,
        review_at: int,
        check: Callable[[Permission], None] = lambda _: None,
    ) -> None:
        """Store a user's report of a published comment once.

        ``check`` may raise an error to refuse the user. A second report by the same user is not
        stored. After ``review_at`` reports the comment is unpublished until a moderator decides,
        except if a moderator has approved its present text. Reports before the latest decision do
        not count.

        Raises NotFoundError if the comment is not published, and InvalidArgumentError if the
        comment is the user's own. Raises ConflictError if other requests keep changing the comment
        or its case.
        """
        again = False

        async def attempt() -> None:
            nonlocal again
            found = published(self._table, comment_id, username, check, consistent=again)
            comment, _ = await found
            again = True
            if comment.username == username:
                raise InvalidArgumentError(
                    "id", "id is your own comment: edit or delete the comment instead."
                )
            stored = await read_case(self._table, comment_id, review_at)
            if stored.case.decision is not None and not stored.complete:
                stored = await read_case(self._table, comment_id)
            if any(one.username == username for one in stored.reports):
                return
            at = stored.case.next_report_at()
            report = Report(comment_id, comment.product_id, username, reason, text, at)
            await self._add(comment, report, stored, review_at)

        # Reports of a comment change its case, so parallel transactions would conflict.
        async with self._comments.hold([comment_id], deadline=retries.DEADLINE):
            await retry_on_change(attempt, THE_CASE)

    async def reports(self, comment_id: str) -> CommentReports:
        """Return up to MOST_READ reports of a comment, oldest first (access pattern AP16)."""
        stored = await read_case(self._table, comment_id, consistent=False)
        reports = sorted(stored.reports, key=lambda report: report.at)
        return CommentReports(reports, stored.complete)

    async def queue(self, cut: Slice) -> Page[QueueEntry]:
        """Return one page of published comments with open cases (access pattern AP15).

        The comment that has waited longest is first.
        """
        rows = _PublishedRows(self._table, self._executor)
        return await PageReader(rows, rows.entry, descending=False).read(_REPORTED, cut)

    async def _add(
        self, comment: Comment, report: Report, stored: StoredCase, review_at: int
    ) -> None:
        """Store a new report, and open the comment's case or unpublish the comment.

        If the user's first report is stored already, nothing changes: it counts. Raises
        ConditionFailedError if the comment or the case has changed since it was read.
        """
        undecided = [*stored.undecided, report]
        opened_at = stored.case.opened_at or undecided[0].at
        case = replace(stored.case, opened_at=opened_at, hidden=False, reported_at=report.at)
        put: Action = {"Put": {"Item": encode_report(report), **ABSENT}}
        try:
            if len(undecided) < review_at or not await self._sent_to_review(stored, case, put):
                check = same_state(comment.comment_id, COMMENT.encode(comment))
                await self._table.write([check, put, stored.put(case)])
        except ConditionFailedError as error:
            if _REPORT not in error.failed:
                raise

    async def _sent_to_review(self, stored: StoredCase, case: Case, report: Action) -> bool:
        """Unpublish a comment until a moderator decides, and store its ``case`` as hidden.

        If the latest decision approved the present text, nothing changes. Return True if the
        comment is now unpublished.
        """

        def step(item: Item, one: Stored) -> CommentChange | None:
            if isinstance(one, Submission):
                raise NotFoundError("Comment not found.")
            if stored.case.approves(version(one)):
                return None
            held = pending(one, ReviewCause.REPORTS, datetime.now(UTC))
            image = encode(held) | idempotency.kept_mark(item)
            return CommentChange(item, image, [report, stored.put(replace(case, hidden=True))])

        there = await self._writes.rewrite(stored.case.comment_id, step)
        return isinstance(there, Submission)


class _PublishedRows:
    """Reads the rows of open cases, and drops the rows of comments that are not published.

    A ``PageReader`` uses this class in place of an ``Executor``.
    """

    def __init__(self, table: Table, executor: Executor) -> None:
        self._table, self._executor = table, executor
        self._comments: dict[str, Comment] = {}

    async def first(
        self,
        query: Query,
        span: Range,
        stats: ExecutionStatistics,
        *,
        descending: bool,
        count: int,
        plan_by: PlanBasis | None = None,
    ) -> list[Row]:
        """Return the first ``count`` rows of published comments within ``span``."""
        found: list[Row] = []
        most = count
        while True:
            rows = await self._executor.first(
                query, span, stats, descending=descending, count=most, plan_by=plan_by
            )
            keys = [comment_key(CASE.decode_row(row).comment_id) for row in rows]
            items = await self._table.get_many(keys, consistent=False)
            comments = filter(None, map(comment_in, items))
            self._comments |= {one.comment_id: one for one in comments}
            found += [row for row in rows if CASE.decode_row(row).comment_id in self._comments]
            if len(rows) < most or len(found) >= count:
                return found[:count]
            span = span.beyond(rows[-1].position, descending=descending)
            most = max(_READ_ON, count - len(found))

    def entry(self, row: Row) -> QueueEntry:
        """Return the queue's entry for a row that ``first`` has returned."""
        case = CASE.decode_row(row)
        assert case.opened_at is not None  # noqa: S101 - the queue has only open cases
        return QueueEntry(case.comment_id, case.opened_at, comment=self._comments[case.comment_id])
