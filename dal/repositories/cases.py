"""Reads, writes and corrects cases. A case is open while reports of a comment wait for a moderator.

The case also stores the moderators' latest decision on the comment.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from dal.dynamodb.concurrency import batched
from dal.dynamodb.errors import ConflictError
from dal.dynamodb.retries import retry_on_change
from dal.dynamodb.table import Table
from dal.entities.case import (
    CASE,
    CASE_ITEMS,
    Case,
    Decision,
    case_in,
    case_key,
    case_partition,
    commented_id,
    decode_report,
    is_report,
)
from dal.entities.comment import comment_in, comment_key, is_tombstone
from dal.entities.submission import stored
from dal.model import Comment
from dal.model.reports import MOST_READ, Report
from dal.repositories.reactions import same_state
from dal.table.entity import UNREADABLE
from dal.table.index import TABLE, QueryRequest
from dal.table.items import Action, Item, unchanged

_AT_ONCE = 100
"""Number of comments that one BatchGetItem reads. This is DynamoDB's maximum."""

THE_CASE = "this comment's case"


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case and reports of its comment, as they were read."""

    case: Case
    reports: Sequence[Report]
    item: Item | None
    """The stored item of the case; None if there is none."""
    complete: bool = True
    """Whether ``reports`` has all reports of the comment."""

    @property
    def undecided(self) -> list[Report]:
        """The reports after the latest decision, oldest first."""
        return sorted(filter(self.case.undecided, self.reports), key=attrgetter("at"))

    @property
    def as_read(self) -> dict[str, Any]:
        """The condition that the stored case has not changed since it was read."""
        return unchanged(self.item, ("data",))

    def put(self, case: Case) -> Action:
        """Return an action that stores ``case`` in place of the case that was read.

        The action fails if the stored case has changed since then. If ``case`` equals the case that
        was read, the action only checks this. If ``case`` is closed and has no decision, the action
        deletes the stored case.
        """
        if case == self.case:
            return {"ConditionCheck": {"Key": case_key(case.comment_id), **self.as_read}}
        if case == Case(case.comment_id):
            return {"Delete": {"Key": case_key(case.comment_id), **self.as_read}}
        return {"Put": {"Item": CASE.encode(case), **self.as_read}}

    def decided(self, decision: Decision) -> Action:
        """Return an action that stores a decision and closes the case: see ``put``."""
        return self.put(Case(self.case.comment_id, None, decision))

    def corrected(self, *, hidden: bool) -> Case:
        """Return the case that the reports require.

        The case is open if one of ``reports`` is newer than the latest decision. Otherwise the case
        is closed if all reports of the comment were read, and stays as it is if some were not. An
        open case gets ``hidden``, which is True if the comment is not published.
        """
        case, undecided = self.case, self.undecided
        if undecided and case.opened_at is None:
            case = replace(case, opened_at=undecided[0].at, reported_at=undecided[-1].at)
        elif not undecided and self.complete:
            case = replace(case, opened_at=None, reported_at=None)
        return replace(case, hidden=hidden and case.opened_at is not None)


def case_of(comment_id: str, item: Item | None) -> StoredCase:
    """Return the case that an item stores, without reports.

    The case is empty without an item, or if another program wrote the item.
    """
    case = Case(comment_id)
    if item is not None:
        with suppress(*UNREADABLE):
            case = case_in(item)
    return StoredCase(case, (), item, complete=False)


async def read_case(
    table: Table, comment_id: str, limit: int = MOST_READ, *, consistent: bool = True
) -> StoredCase:
    """Return the case of a comment and up to ``limit`` of its reports (access pattern AP16).

    The read is one Query.
    """
    partition = case_partition(comment_id)
    request = QueryRequest(TABLE, partition, CASE_ITEMS, limit=limit + 1, consistent=consistent)
    response = await table.query(request)
    item, reports = None, list[Report]()
    for one in response.items:
        if not is_report(one):
            item = one
            continue
        with suppress(*UNREADABLE):  # skip an item that another program wrote
            reports.append(decode_report(one))
    complete = response.last_key is None and len(reports) <= limit
    return replace(case_of(comment_id, item), reports=reports[:limit], complete=complete)


async def correct_case(table: Table, comment_id: str) -> int:
    """Open, close or hide the case of a comment, as ``StoredCase.corrected`` describes.

    Return 1 if the comment was added to the queue, -1 if it was removed, otherwise 0. Raises
    ConflictError if other requests keep changing the case or the comment's state.
    """

    async def attempt() -> int:
        read = await read_case(table, comment_id)
        item = await table.get(comment_key(comment_id))
        case = read.corrected(hidden=comment_in(item) is None)
        if case == read.case:
            return 0
        await table.write([same_state(comment_id, item), read.put(case)])
        return case.listed - read.case.listed

    return await retry_on_change(attempt, THE_CASE)


class Cases:
    """Corrects the cases of comments that a scan has found, and counts the corrections.

    A process that is killed between two writes can leave a wrong case. ``correct`` opens the cases
    of comments with reports after the latest decision, and closes the other cases. It hides the
    cases of unpublished comments, and removes the cases, reports and votes of deleted comments.
    ``opened`` is the number of comments that were added to the queue, ``closed`` the number that
    were removed from the queue, and ``removed`` the number of deleted comments. ``remove_rest``
    removes what belongs to a deleted comment.
    """

    def __init__(self, table: Table, remove_rest: Callable[[str], Awaitable[None]]) -> None:
        self._table = table
        self._remove_rest = remove_rest
        self.opened = 0
        self.closed = 0
        self.removed = 0
        self._reported: set[str] = set()

    def scanned(self, items: Sequence[Item], comments: Sequence[Comment]) -> None:
        """Keep the ids of comments that have a case or reports."""
        del comments
        self._reported |= {one for item in items if (one := commented_id(item)) is not None}

    def suspects(self) -> Collection[str]:
        """Return the ids of comments that have a case or reports."""
        return self._reported

    def report(self) -> str:
        """Return how many cases were wrong."""
        if not (self.opened or self.closed or self.removed):
            return ""
        return (
            f"{self.opened:,} reported comments were missing from the queue. They are listed now. "
            f"{self.closed:,} comments in the queue were not published or had no open report. "
            f"They are not listed now. Reports and votes of {self.removed:,} deleted comments are "
            "removed."
        )

    async def correct(self, suspects: Collection[str]) -> None:
        """Correct the cases of these comments.

        ``suspects`` must include each comment that has a report or a decision, and each deleted
        comment that still has votes.
        """
        for some in batched(sorted(suspects), _AT_ONCE):
            items = await self._table.get_many([comment_key(one) for one in some])
            there = {item["PK"]["S"]: item for item in items}
            for comment_id in some:
                item = there.get(comment_key(comment_id)["PK"]["S"])
                if item is None or is_tombstone(item):
                    await self._remove_rest(comment_id)
                    self.removed += 1
                elif stored(item) is not None:
                    # A conflict is ignored: the requests that change the case also correct it.
                    with suppress(ConflictError):
                        rows = await correct_case(self._table, comment_id)
                        self.opened += rows > 0
                        self.closed += rows < 0
