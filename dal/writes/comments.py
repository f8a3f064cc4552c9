"""Writes comments, on condition that a comment's item has not changed since it was read."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from typing import Any, TypeAlias

from dal.counts.counts import CounterRule
from dal.counts.mode import MaintenanceStore
from dal.dynamodb.account import Account, note_hidden
from dal.dynamodb.deadline import deadline
from dal.dynamodb.errors import AlreadyExistsError, ConditionFailedError, ConflictError
from dal.dynamodb.retries import retry_on_conflict
from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.entities.comment import COMMENT, comment_key, comment_position, is_tombstone
from dal.entities.submission import encode, stored
from dal.errors import NotFoundError
from dal.model import Comment, Reply
from dal.model.submissions import Submission
from dal.query.pagination import Edge
from dal.table.items import Item, further_units
from dal.writes.changes import KEEPS_CHANGING, CommentChange, Undated, WriteRules
from dal.writes.transaction import CounterTransactions

_log = logging.getLogger(__name__)

_REMOVAL_SECONDS = 1.0
"""Maximum seconds that ``delete`` waits until the rules have removed a comment's other data."""

Written: TypeAlias = Edge[Comment] | Submission
"""The result of a write: a published comment with its position, or a submission (an unpublished
comment)."""

Stored: TypeAlias = Comment | Submission

Hold: TypeAlias = Callable[[Comment], Stored]
"""A function that receives a new comment, and returns it, published or as a submission."""

Edit: TypeAlias = Callable[[Stored, Stored], Stored]
"""A function that receives a comment or a submission before and after an edit that keeps the state.
It returns the edited comment, published or as a submission."""


class CommentWriter:
    """Writes comments, and calls the rules of writes."""

    def __init__(
        self, table: Table, maintenance: MaintenanceStore, rules: Sequence[CounterRule]
    ) -> None:
        self._table = table
        self.rules = WriteRules(rules)
        self.transactions = CounterTransactions(table, maintenance, self.rules)

    async def add(
        self,
        comment: Comment,
        idempotency_key: str | None = None,
        *,
        key_until: int = 0,
        dated: bool = True,
        hold: Hold | None = None,
    ) -> Written:
        """Store a new comment once.

        Without ``hold``, the comment is published.

        With an idempotency key, the comment's id is a hash of its author and the key. So a second
        add with the same key returns the first comment, in its present state. The second add raises
        IdempotencyKeyReusedError if its contents differ from those of the first add, and
        NotFoundError if the first comment was deleted. The key is kept until the Unix time
        ``key_until`` at least.

        If ``dated`` is False, the comment's date is the time of the write. Raises
        AlreadyExistsError if another comment has the same id. A rule may refuse the comment by
        another error.
        """
        mark: Item = {}
        if idempotency_key is not None:
            comment_id = idempotency.comment_id(comment.username, idempotency_key)
            comment = comment._replace(comment_id=comment_id)
            mark = idempotency.mark(comment, key_until)

        held = comment if hold is None else hold(comment)

        def image(new: Comment) -> Item:
            if isinstance(held, Comment):
                return COMMENT.encode(new) | mark
            return encode(replace(held, created_at=new.created_at, queued_at=new.created_at)) | mark

        published = isinstance(held, Comment)
        new = image(comment) if dated else Undated(comment, image, published)
        notes: dict[object, Any] = {}

        async def attempt() -> Written:
            change = CommentChange(None, new, notes=notes)
            try:
                await self.transactions.write(change)
            except ConditionFailedError as error:
                if 0 not in error.failed:
                    raise await change.explained(error) from None
                return await self._added_before(comment, keyed=idempotency_key is not None)
            return written(change.after or stored(change.image))

        return await retry_on_conflict(attempt)

    async def update(
        self,
        comment_id: str,
        changes: Mapping[str, Any],
        check: Callable[[Stored], None],
        edit: Edit | None = None,
    ) -> Written:
        """Change fields of a comment or a submission. Its date stays the same.

        ``check`` may raise an error to refuse the change. Without ``edit``, the state stays the
        same. Raises NotFoundError if the comment does not exist, and ConflictError if other
        requests keep changing it.
        """

        def step(item: Item, one: Stored) -> CommentChange:
            check(one)
            fields = {**changes, "updated_at": datetime.now(UTC)}
            new = one._replace(**fields) if isinstance(one, Comment) else replace(one, **fields)
            new = new if edit is None else edit(one, new)
            return CommentChange(item, encode(new) | idempotency.kept_mark(item))

        return written(await self.rewrite(comment_id, step))

    async def delete(self, comment_id: str, check: Callable[[Stored], None]) -> Stored:
        """Delete a comment or a submission, with what the rules keep about it, and return it.

        ``check`` may raise an error to refuse the deletion. Raises NotFoundError and ConflictError
        as ``update`` does.
        """
        gone: list[Stored] = []

        def deleted(item: Item, one: Stored) -> CommentChange:
            check(one)
            gone[:] = [one]
            return CommentChange(item, idempotency.tombstone(item))

        await self.rewrite(comment_id, deleted)
        await self._remove_rest_soon(comment_id)
        return gone[0]

    async def reply(self, comment_id: str, text: str | None) -> tuple[Comment, bool]:
        """Set the shop's reply to a published comment. ``text`` None removes the reply.

        Return the comment, and whether the reply has changed. An equal reply is not written again.
        Raises NotFoundError if the comment is not published, and ConflictError if other requests
        keep changing it.
        """
        changed = False

        def replied(item: Item, one: Stored) -> CommentChange | None:
            nonlocal changed
            if not isinstance(one, Comment):
                raise NotFoundError("Comment not found.")
            changed = text != (one.reply.text if one.reply else None)
            if not changed:
                return None
            now = datetime.now(UTC)
            new = one._replace(reply=Reply(text, now) if text is not None else None)
            if text is None:
                new = new._replace(touched_at=now)
            return CommentChange(item, encode(new) | idempotency.kept_mark(item))

        there = await self.rewrite(comment_id, replied)
        assert isinstance(there, Comment)  # noqa: S101 - the step raises for a submission
        return there, changed

    async def rewrite(
        self, comment_id: str, step: Callable[[Item, Stored], CommentChange | None]
    ) -> Stored | None:
        """Change a comment's item by ``step``. Return the new comment or submission.

        ``step`` receives the item, read consistently, and its comment or submission. It returns the
        change, or None to write nothing. If another request changes the item before the write,
        ``step`` is called again. The result is None if the change deletes the comment. If ``step``
        returns None, the result is the comment as it was read.

        Raises NotFoundError if there is neither a comment nor a submission, and ConflictError if
        other requests keep changing the item. Raises ConditionFailedError if the comment's item is
        unchanged, but the condition of an action in ``CommentChange.beside`` fails.
        """
        notes: dict[object, Any] = {}

        async def attempt() -> Stored | None:
            item = await self._table.get(comment_key(comment_id))
            one = stored(item)
            if item is None or one is None:
                raise NotFoundError("Comment not found.")
            try:
                change = step(item, one)
            # With this error, ``step`` hides the comment from the viewer. So the reported cost must
            # not show that the comment exists.
            except NotFoundError:
                note_hidden(further_units(item))
                raise
            if change is None:
                return one
            change.notes = notes
            for rule in self.rules.prepare:
                await rule.prepare([change])
            try:
                await self.transactions.write(change)
            except ConditionFailedError as error:
                if 0 not in error.failed:
                    raise await change.explained(error) from None
                raise ConflictError(KEEPS_CHANGING) from None
            return change.after or stored(change.image)

        return await retry_on_conflict(attempt)

    async def remove_rest(self, comment_id: str) -> None:
        """Let the rules remove what belongs to a deleted comment."""
        for rule in self.rules.deleted:
            await rule.deleted(comment_id)

    async def _remove_rest_soon(self, comment_id: str) -> None:
        """Remove what belongs to a deleted comment.

        This method waits for _REMOVAL_SECONDS at most. A longer removal continues in the
        background. If it fails, `marginalia stats verify` removes the rest. The removal's requests
        do not count as requests of the client's operation, because other users' writes decide their
        number.
        """
        with deadline(inf), Account():
            removal = asyncio.create_task(self.remove_rest(comment_id))

        async def finish() -> None:
            await asyncio.wait([removal])

        def ended(_: object) -> None:
            self._table.unfinished.discard(finish)
            if not removal.cancelled() and (error := removal.exception()) is not None:
                _log.warning(
                    "Some data of a deleted comment remains until `marginalia stats verify` "
                    "removes it: %s",
                    error,
                )

        self._table.unfinished.add(finish)
        removal.add_done_callback(ended)
        await asyncio.wait([removal], timeout=_REMOVAL_SECONDS)

    async def _added_before(self, comment: Comment, *, keyed: bool) -> Written:
        """Return the comment or submission that an earlier attempt of the same add stored.

        Raise an error if the stored item is another comment, or if the comment was deleted.
        """
        item = await self._table.get(comment_key(comment.comment_id))
        if item is not None and keyed:
            idempotency.check_same(item, comment)
        if item is None or is_tombstone(item):
            raise NotFoundError(
                "This comment was added before, and has been deleted: add it as a new comment."
            )
        there = stored(item)
        held = there.published() if isinstance(there, Submission) else there
        # If the response to an earlier attempt was lost, the stored comment may have an earlier
        # date.
        same = held is not None and held._replace(created_at=comment.created_at) == comment
        if there is None or not (keyed or same):
            raise AlreadyExistsError("Another comment has this id.")
        return written(there)


def written(one: Stored | None) -> Written:
    """Return the result of a write: a published comment with its position, or a submission.

    A submission has no position, because no list of published comments contains it.
    """
    assert one is not None  # noqa: S101 - it was written
    return Edge(one, comment_position(one)) if isinstance(one, Comment) else one


def version(one: Stored) -> datetime:
    """Return the version of a comment, which is the time of its last edit.

    The version of a comment that was never edited is its date.
    """
    return one.updated_at or one.created_at
