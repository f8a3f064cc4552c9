"""Reports of comments. After enough reports, a comment is unpublished until a moderator decides.

The first report opens the comment's case, which the moderators' queue lists. If a process is killed
after it has stored a report, the report's effect on the case or the comment may be missing. The
next report of the comment then causes this effect. If no report follows, `marginalia stats verify`
opens the case.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from dal import errors
from dal.client.retries import retry_on_conflict
from dal.client.table import Table
from dal.entities import idempotency
from dal.entities.case import CASE, Case, Decision, encode_report
from dal.entities.comment import comment_in, comment_key
from dal.entities.entity import Row
from dal.entities.submission import encode, submission_in
from dal.model import Comment
from dal.model.moderation import QueueKind, ReviewCause
from dal.model.reports import CommentReports, Report, ReportReason
from dal.model.standings import Permission
from dal.model.submissions import QueueEntry, Submission, pending
from dal.query.access_patterns import query_of
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.query.plan import PlanBasis, Query
from dal.query.trace import ExecutionStatistics
from dal.repositories.bulk_write import Outcome, overwrite
from dal.repositories.cases import CHANGING, StoredCase, read_case, write_case
from dal.repositories.comment_writes import CommentWriter, Stored, version
from dal.repositories.reactions import published
from dal.statistics.comment_changes import CommentChange
from dal.table.items import ABSENT, Item
from dal.table.ranges import Range

_REPORTED = {"state": frozenset({QueueKind.REPORTED.value})}

_READ_ON = 20
"""Minimum rows of each read after the first, for a page of the queue. The first read may return too
few rows for the page, because rows of comments that are not published are dropped."""


class ReportRepository:
    """Reads and writes reports. Lists of reports and cases are eventually consistent."""

    def __init__(self, table: Table, writes: CommentWriter) -> None:
        self._table = table
        self._writes = writes
        self._executor = Executor(table.query, CASE.indexes)

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
        comment = await published(self._table, comment_id, username, check)
        if comment.username == username:
            raise errors.InvalidArgumentError(
                "id", "id is your own comment: edit or delete the comment instead."
            )
        report = Report(
            comment_id, comment.product_id, username, reason, text, at=datetime.now(UTC)
        )
        added: Report | None = report
        try:
            await self._table.write([{"Put": {"Item": encode_report(report), **ABSENT}}])
        except errors.ConditionFailedError:  # the user's first report is stored and counts
            added = None
        await retry_on_conflict(partial(self._act, comment_id, review_at, added))

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
        return await PageReader(rows, rows.entry, descending=False).read(query_of(_REPORTED), cut)

    async def put_many(self, reports: Sequence[Report]) -> Outcome:
        """Write reports. Each replaces the stored report of the same user and comment.

        The comments stay published. The caller writes their cases by ``put_cases``. If a case is
        missing, `marginalia stats verify` opens it.
        """
        return await overwrite(self._table, [[encode_report(one)] for one in reports])

    async def put_cases(self, cases: Sequence[Case]) -> Outcome:
        """Write cases. Each replaces the stored case of its comment.

        An open case is hidden if its comment is stored and not published. The comments themselves
        do not change.
        """
        opened = {one.comment_id: comment_key(one.comment_id) for one in cases if one.opened_at}
        items = await self._table.get_many([*opened.values()]) if opened else []
        held = {one.comment_id for item in items if (one := submission_in(item)) is not None}
        hidden = [
            replace(one, hidden=one.comment_id in held) if one.opened_at else one for one in cases
        ]
        return await overwrite(self._table, [[CASE.encode(one)] for one in hidden])

    async def _act(self, comment_id: str, review_at: int, added: Report | None) -> None:
        """Unpublish a reported comment, or open its case, as the number of reports requires.

        ``added`` is the new report; None if the user has reported the comment before. Only a
        limited number of reports is read, but ``added`` always counts. Raises ConflictError if
        another request changes the comment or the case meanwhile.
        """
        stored = await read_case(self._table, comment_id, review_at)
        if stored.case.decision is not None and not stored.complete:
            stored = await read_case(self._table, comment_id)
        undecided = stored.undecided
        if added is not None and all(one.username != added.username for one in undecided):
            decision = stored.case.decision
            if decision is not None and not stored.case.undecided(added):
                added = await self._dated_after(decision, added)
            undecided.append(added)
        if not undecided:
            return
        case = replace(stored.case, opened_at=stored.case.opened_at or undecided[0].at)
        if len(undecided) >= review_at and await self._sent_to_review(stored, case):
            return
        if case != stored.case:
            await write_case(self._table, stored, case)

    async def _dated_after(self, decision: Decision, report: Report) -> Report:
        """Store a report again with a date after the decision, and return it.

        The moderator decided after the report's first date, but before the report was stored. So
        the decision did not consider the report, and the report must count.
        """
        dated = replace(report, at=decision.at + timedelta(microseconds=1))
        await self._table.write([{"Put": {"Item": encode_report(dated)}}])
        return dated

    async def _sent_to_review(self, stored: StoredCase, case: Case) -> bool:
        """Unpublish a comment until a moderator decides, and store its ``case`` as hidden.

        If the latest decision approved the present text, nothing changes. Return True if the
        comment is now unpublished, or if it was deleted meanwhile.
        """

        def step(item: Item, one: Stored) -> CommentChange | None:
            if isinstance(one, Submission) or stored.case.approves(version(one)):
                return None
            held = pending(one, ReviewCause.REPORTS, datetime.now(UTC))
            image = encode(held) | idempotency.kept_mark(item)
            return CommentChange(item, image, [stored.put(replace(case, hidden=True))])

        try:
            there = await self._writes.rewrite(stored.case.comment_id, step)
        except errors.NotFoundError:
            return True
        except errors.ConditionFailedError as changed:
            raise errors.ConflictError(CHANGING) from changed
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
            shown = await self._published(rows)
            found += [row for row in rows if _comment_id(row) in shown]
            if len(rows) < most or len(found) >= count:
                return found[:count]
            span = span.beyond(rows[-1].position, descending=descending)
            most = max(_READ_ON, count - len(found))

    async def any(
        self, query: Query, span: Range, stats: ExecutionStatistics, *, descending: bool
    ) -> bool:
        """Return whether there is a row of a published comment within ``span``."""
        return bool(await self.first(query, span, stats, descending=descending, count=1))

    def entry(self, row: Row) -> QueueEntry:
        """Return the queue's entry for a row that ``first`` has returned."""
        case = CASE.decode_row(row)
        assert case.opened_at is not None  # noqa: S101 - the queue has only open cases
        return QueueEntry(case.opened_at, comment=self._comments[case.comment_id])

    async def _published(self, rows: list[Row]) -> Mapping[str, Comment]:
        keys = [comment_key(_comment_id(row)) for row in rows]
        items = await self._table.get_many(keys, consistent=False) if keys else []
        self._comments |= {
            one.comment_id: one for item in items if (one := comment_in(item)) is not None
        }
        return self._comments


def _comment_id(row: Row) -> str:
    return CASE.decode_row(row).comment_id
