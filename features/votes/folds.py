"""Helpful votes: a comment shows the number of its votes some seconds after they change.

The votes of a comment are items. If each vote also changed the number in the comment, votes would
conflict with other votes and with edits. Each vote would also write every index of the comment. So
each process collects the comments with changed votes. Every few seconds it *folds* the votes of
each of these comments: it counts the vote items, and stores their number in the comment.

A fold writes on condition that the comment has not changed since it was read, so a fold loses no
edit. After its write, the fold counts the votes again, and repeats if the number has changed.
Without the second count, the comment could keep a wrong number. For example, the fold counts a new
vote, and the user deletes this vote before the fold's write. Another process then counts the votes,
finds that the comment still has the right number, and writes nothing. After that, the fold stores a
number that includes the deleted vote.

The key of a vote in the index ``byAuthor`` contains the comment's product. If a load has moved the
comment to another product, the fold also moves the keys of its votes.

A fold keeps ``updatedAt``, and subscriptions receive no event, because a fold is not an edit.

If a process is killed before a fold, the next vote for the comment, the voter's next read of the
comment within a minute, or ``marginalia stats verify`` makes the fold.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic

from dal.counts.deferred import WORK_SECONDS, DeferredWork
from dal.dynamodb.concurrency import batched, in_parallel
from dal.dynamodb.errors import ConditionFailedError
from dal.dynamodb.table import Table
from dal.entities.comment import (
    BY_AUTHOR,
    COMMENT,
    FOLDED,
    HELPFUL,
    comment_in,
    comment_key,
    is_tombstone,
)
from dal.model import Comment
from dal.table.entity import packed, unpacked
from dal.table.index import query_arguments
from dal.table.items import Item, replacement, versioned
from dal.writes.changes import CommentChange, WriteRule
from features.votes.entity import (
    MOST_COUNTED,
    VOTES_A_SECOND,
    all_votes,
    is_counted,
    vote_position,
)

_AT_ONCE = 16
"""Number of votes that are moved in parallel."""

_KEYS = (HELPFUL.partition_key, HELPFUL.sort_key)


class HelpfulFolds(DeferredWork):
    """Stores the numbers of votes in the comments of one table."""

    undone = "Some helpful votes were not counted"
    repaired_by = "the next vote for the comment, or `marginalia stats verify`, counts them"

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._not_before: dict[str, float] = {}
        self.folded = 0
        """The number of corrected comments."""

    def is_due(self, name: str) -> bool:
        """Return whether enough time has passed since the last fold: see VOTES_A_SECOND."""
        return self._not_before.get(name, 0.0) <= monotonic()

    async def work(self, name: str) -> bool:
        """Fold the votes of a comment. If the comment is deleted, delete its votes."""
        item = await self._table.get(comment_key(name))
        comment = comment_in(item)
        if item is not None and is_tombstone(item):  # the vote may be newer than the deletion
            await self._table.delete_all(all_votes(name))
            return False
        if item is None or comment is None:
            return False
        votes, moved = await self._read(comment)
        for some in batched(moved, _AT_ONCE):
            await in_parallel([self._move(vote, comment) for vote in some])
        if votes == comment.votes:
            return bool(moved)
        new = _folded(item, comment._replace(votes=votes))
        try:
            await self._table.write([{"Put": {"Item": new, **COMMENT.unchanged(item)}}])
        except ConditionFailedError:  # the item has changed since it was read
            return True
        self.folded += 1
        return bool(moved) or (await self._read(comment))[0] != votes

    async def _read(self, comment: Comment) -> tuple[int, Sequence[Item]]:
        votes, moved, _ = await read_votes(self._table, comment)
        now, pause = monotonic(), votes / VOTES_A_SECOND
        if len(self._not_before) > 1_000:  # noqa: PLR2004
            self._not_before = {one: at for one, at in self._not_before.items() if at > now}
        if pause > WORK_SECONDS:
            self._not_before[comment.comment_id] = now + pause
        return votes, moved

    async def _move(self, vote: Item, comment: Comment) -> None:
        """Store a vote with another product. If the vote has changed, the next fold moves it."""
        position = vote_position(comment.product_id, comment.comment_id)
        with suppress(ConditionFailedError):
            await self._table.write(
                [replacement(vote, vote | {BY_AUTHOR.sort_key: {"S": position}})]
            )


async def read_votes(
    table: Table, comment: Comment, most: int = MOST_COUNTED
) -> tuple[int, Sequence[Item], bool]:
    """Return the number of a comment's votes, and the items of votes with another product.

    The last value of the result is False if the comment has more than ``most`` votes, so that the
    result does not include all votes. The read is consistent. It returns no items except withdrawn
    votes and votes with another product, because DynamoDB counts the others.
    """
    arguments = query_arguments(replace(all_votes(comment.comment_id), limit=most))
    arguments["FilterExpression"] = "attribute_exists(#data) OR #own <> :own"
    arguments["ExpressionAttributeNames"] |= {"#data": "data", "#own": BY_AUTHOR.sort_key}
    position = vote_position(comment.product_id, comment.comment_id)
    arguments["ExpressionAttributeValues"] |= {":own": {"S": position}}
    number, moved = 0, list[Item]()
    while True:
        response = await table.call("query", **arguments)
        left = [item for item in response["Items"] if is_counted(item)]
        number += response["ScannedCount"] - len(response["Items"]) + len(left)
        moved += left
        last_key = response.get("LastEvaluatedKey")
        if last_key is None or number >= most:
            return number, moved, last_key is None
        arguments["ExclusiveStartKey"] = last_key


def _folded(item: Item, comment: Comment) -> Item:
    """Return the item of a comment with a new number of votes.

    Fields of ``data`` that this version does not read stay unchanged.
    """
    # Without votes, a comment has neither these keys nor the field.
    kept = {name: value for name, value in item.items() if name not in _KEYS}
    whole, others = COMMENT.encode(comment), unpacked(item)
    others.pop("helpful", None)
    known = unpacked(whole)
    return versioned(kept | whole | packed(known | others | known) | {FOLDED: {"BOOL": True}})


class VoteRule(WriteRule):
    """Counts the votes of a comment that was published or moved to another product."""

    follows_new = False

    def __init__(self, table: Table, folds: HelpfulFolds) -> None:
        self._table = table
        self._folds = folds

    def committed(self, change: CommentChange) -> None:
        """Note the comment if its number of votes or the keys of its votes may be out of date.

        While a comment is not published, its number of votes is not updated. So the votes are
        counted after the comment is published. If the comment now has another product, the keys of
        its votes change too.
        """
        old, new = change.before, change.after
        moved = old is not None and new is not None and old.product_id != new.product_id
        if new is not None and (old is None or (moved and new.votes)):
            self._folds.note(new.comment_id)

    async def deleted(self, comment_id: str) -> None:
        """Delete the votes for a deleted comment."""
        await self._table.delete_all(all_votes(comment_id))
