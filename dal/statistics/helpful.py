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

A fold keeps ``updatedAt``, and subscriptions receive no event, because a fold is not an edit.

If a process is killed before a fold, the next vote for the comment, or ``marginalia stats verify``,
makes the fold.
"""

from time import monotonic

from dal.client.table import Table
from dal.entities.comment import (
    ALL,
    COMMENT,
    FOLDED,
    HELPFUL,
    STATE,
    comment_in,
    comment_key,
    is_tombstone,
)
from dal.entities.entity import packed, unpacked
from dal.entities.vote import all_votes
from dal.errors import ConditionFailedError
from dal.statistics.deferred import WORK_SECONDS, DeferredWork
from dal.table.items import Item, key_of, unchanged

VOTES_A_SECOND = 250
"""The minimum pause between two folds of a comment, in seconds, is the number of its votes divided
by this number: 4 seconds for 1,000 votes. A fold counts the votes twice. At this rate, the folds of
a comment in one process consume at most about 15 RCU per second."""

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
        if item is None or is_tombstone(item):  # the vote may be newer than the deletion
            await self._table.delete_all(all_votes(name))
            return False
        if comment is None:
            return False
        votes = await self._count(name)
        if votes == comment.votes:
            return False
        whole = COMMENT.encode(comment._replace(votes=votes))
        try:
            await self._table.update(_update(item, whole))
        except ConditionFailedError:  # the item has changed since it was read
            return True
        self.folded += 1
        return await self._count(name) != votes

    async def _count(self, comment_id: str) -> int:
        votes = await self._table.count(all_votes(comment_id), lambda _: None)
        now, pause = monotonic(), votes / VOTES_A_SECOND
        if len(self._not_before) > 1_000:  # noqa: PLR2004
            self._not_before = {one: at for one, at in self._not_before.items() if at > now}
        if pause > WORK_SECONDS:
            self._not_before[comment_id] = now + pause
        return votes


def _update(item: Item, whole: Item) -> Item:
    """Return the update that stores the number of votes of ``whole`` in the comment's item.

    Fields of ``data`` that this version does not read stay unchanged.
    """
    known = unpacked(whole)
    others = {name: value for name, value in unpacked(item).items() if name not in known}
    others.pop("helpful", None)
    update = unchanged(item, ("data", ALL.partition_key, STATE))
    changed = packed(known | others) | {name: whole[name] for name in _KEYS if name in whole}
    changed[FOLDED] = {"BOOL": True}
    update["ExpressionAttributeNames"] |= {f"#{name}": name for name in (*_KEYS, FOLDED)}
    update["ExpressionAttributeValues"] |= {f":to_{name}": to for name, to in changed.items()}
    expression = "SET " + ", ".join(f"#{name} = :to_{name}" for name in changed)
    if HELPFUL.sort_key not in whole:
        expression += " REMOVE " + ", ".join(f"#{name}" for name in _KEYS)
    return {"Key": key_of(item), "UpdateExpression": expression, **update}
