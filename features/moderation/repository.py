"""Moderation: submissions (unpublished comments), the queue, decisions, and blocks of users."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from dal.catalogue import query_of
from dal.dynamodb.account import note_hidden
from dal.dynamodb.concurrency import in_parallel
from dal.dynamodb.errors import ConflictError
from dal.dynamodb.retries import retry_on_change
from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.entities.comment import comment_key, comment_position
from dal.entities.standing import IS_BLOCKED, STANDING, Standing
from dal.entities.submission import HELD, QUEUE, SUBMISSION, encode, submission_in
from dal.model import Comment
from dal.model.standings import Block
from dal.model.submissions import Submission, SubmissionState, rejected
from dal.query.executor import Executor
from dal.query.pagination import Edge, Page, PageReader, Slice
from dal.repositories.standings import StandingRepository
from dal.table.entity import Row
from dal.table.index import QUEUE_SHARDS, QueryRequest
from dal.table.items import Action, Item, further_units
from dal.table.ranges import between
from dal.writes.changes import CommentChange
from dal.writes.comments import CommentWriter, Stored, version
from features.moderation.cases import THE_CASE, StoredCase, case_of, same_state
from features.moderation.entity import case_key
from features.moderation.model import QueueEntry, QueueKind

QUEUE_REQUESTS = QUEUE_SHARDS
"""The number of Queries that read a page of the queue, or count its rows. The queue has several
partitions (shards), and each needs one Query."""

MOST_COUNTED = 500
"""Maximum rows of the queue that are counted in each shard."""

_EDITED = "The comment was edited since you read it: read it again, then decide."

_BLOCKED = query_of(IS_BLOCKED)

_PENDING = {"state": frozenset({SubmissionState.PENDING.value})}


class ModerationRepository:
    """Reads submissions, and writes decisions. Lists are eventually consistent."""

    def __init__(self, table: Table, writes: CommentWriter) -> None:
        self._table = table
        self._writes = writes
        executor = Executor(table.query, SUBMISSION.indexes)
        self._pages = PageReader(executor, SUBMISSION.decode_row, descending=True)
        self._queue = PageReader(executor, _queued, descending=False)

    async def get(
        self, comment_id: str, sees: Callable[[Submission], bool] = lambda _: True
    ) -> Submission | None:
        """Return a submission by its id, read consistently (access pattern AP17).

        Return None if no submission has this id, or if ``sees`` returns False for the submission.
        In both cases, the reported cost is the cost of a missing comment. So the cost does not show
        whether the submission exists.
        """
        item = await self._table.get(comment_key(comment_id))
        submission = submission_in(item)
        if item is None or (submission and sees(submission)):
            return submission
        note_hidden(further_units(item))
        return None

    async def page(
        self,
        username: str,
        cut: Slice,
        created_from: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Page[Submission]:
        """Return one page of a user's submissions, newest first (access pattern AP13).

        ``created_from`` is inclusive, ``created_before`` exclusive. A date that is None does not
        filter.
        """
        filters = {"author": frozenset({username}), "part": frozenset({HELD})}
        query = query_of(filters, between(created_from, created_before))
        return await self._pages.read(query, cut)

    async def queue(self, cut: Slice) -> Page[QueueEntry]:
        """Return one page of pending submissions, longest waiting first (access pattern AP14)."""
        return await self._queue.read(query_of(_PENDING), cut)

    async def queue_length(self, kind: QueueKind) -> int | None:
        """Return the number of rows of a queue; None if a shard has MOST_COUNTED rows or more."""
        partitions = [QUEUE.partition_of({"state": kind}, shard) for shard in range(QUEUE.shards)]
        requests = [QueryRequest(QUEUE, one, limit=MOST_COUNTED) for one in partitions]
        counts = await in_parallel([self._table.count(one, lambda _: None) for one in requests])
        return None if max(counts) >= MOST_COUNTED else sum(counts)

    async def approve(self, comment_id: str, seen: datetime, by: str) -> Edge[Comment]:
        """Publish a submission, unless its text has changed since the moderator ``by`` read it.

        ``seen`` is the version that the moderator read: the time of the last edit (see
        ``version``). If the comment is already published, this method only closes the comment's
        case, provided that the case is open. Raises NotFoundError if there is neither a submission
        nor a comment. Raises ConflictError if the author has edited the text, or if other requests
        keep changing the comment.
        """

        async def attempt() -> Comment | None:
            there: Item | None = None
            read = await self._case(comment_id)
            decided = read.decided(read.case.decision_now(by, seen))

            def step(item: Item, one: Stored) -> CommentChange | None:
                nonlocal there
                there = item if isinstance(one, Comment) else None
                if isinstance(one, Comment) or version(one) != seen:
                    return None
                comment = one.published()._replace(touched_at=datetime.now(UTC))
                return _decided(item, comment, decided)

            one = await self._writes.rewrite(comment_id, step)
            if not isinstance(one, Comment):
                return None
            if there is None or read.case.opened_at is None:
                return one
            if version(one) != seen:
                return None
            await self._table.write([same_state(comment_id, there, "data"), decided])
            return one

        approved = await retry_on_change(attempt, THE_CASE)
        if approved is None:
            raise ConflictError(_EDITED)
        return Edge(approved, comment_position(approved))

    async def reject(self, comment_id: str, seen: datetime, by: str, reason: str) -> Submission:
        """Reject a comment or a submission, and return the rejected submission.

        The author can read ``reason``. A submission that was already rejected with the same reason
        is returned unchanged. The other arguments and the errors are those of ``approve``.
        """

        async def attempt() -> Stored | None:
            read = await self._case(comment_id)
            decision = read.case.decision_now(by, seen, reason)

            def step(item: Item, one: Stored) -> CommentChange | None:
                if version(one) != seen or (isinstance(one, Submission) and one.reason == reason):
                    return None
                return _decided(item, rejected(one, reason, decision.at), read.decided(decision))

            return await self._writes.rewrite(comment_id, step)

        there = await retry_on_change(attempt, THE_CASE)
        if not isinstance(there, Submission) or there.reason != reason:
            raise ConflictError(_EDITED)
        return there

    async def _case(self, comment_id: str) -> StoredCase:
        return case_of(comment_id, await self._table.get(case_key(comment_id)))


def _decided(item: Item, new: Stored, decided: Action) -> CommentChange:
    """Return the change that stores ``new`` in place of ``item``, and the decision in the case."""
    return CommentChange(item, encode(new) | idempotency.kept_mark(item), [decided])


def _queued(row: Row) -> QueueEntry:
    submission = SUBMISSION.decode_row(row)
    return QueueEntry(submission.comment_id, submission.queued_at, submission)


class BlockRepository:
    """Writes blocks, and lists the blocked users. The list is eventually consistent."""

    def __init__(self, table: Table, standings: StandingRepository) -> None:
        self._standings = standings
        executor = Executor(table.query, STANDING.indexes)
        self._pages = PageReader(executor, _block, descending=True)

    async def block(self, username: str, reason: str, by: str | None) -> Block:
        """Block a user. ``by`` is the moderator; None if an operator's command blocks the user.

        If the user is already blocked for the same reason, the older block stays and is returned.
        """
        block = Block(username, reason, datetime.now(UTC), by)

        def blocked(standing: Standing) -> Standing:
            there = standing.block
            return replace(standing, block=there if there and there.reason == reason else block)

        standing = await self._standings.rewrite(username, blocked)
        return (standing and standing.block) or block

    async def unblock(self, username: str) -> None:
        """End the block of a user. Comments that wait for a moderator continue to wait."""
        await self._standings.rewrite(username, lambda standing: replace(standing, block=None))

    async def page(self, cut: Slice) -> Page[Block]:
        """Return one page of the blocked users, the latest block first (access pattern AP18)."""
        return await self._pages.read(_BLOCKED, cut)


def _block(row: Row) -> Block:
    block = STANDING.decode_row(row).block
    assert block is not None  # noqa: S101 - the list has only blocked users
    return block
