"""Reads, writes and corrects cases. A case is open while reports of a comment wait for a moderator.

The case also stores the moderators' latest decision on the comment.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter

from dal import errors
from dal.client.concurrency import batched
from dal.client.retries import retry_on_conflict
from dal.client.table import Table
from dal.entities.case import (
    CASE,
    CASE_ITEMS,
    Case,
    case_in,
    case_key,
    case_partition,
    decode_report,
    is_report,
)
from dal.entities.comment import comment_in, comment_key, is_tombstone
from dal.entities.entity import UNREADABLE
from dal.entities.submission import stored
from dal.model.reports import MOST_READ, Report
from dal.repositories.reactions import remove_reactions
from dal.statistics.comment_changes import CommentChange
from dal.table.index import TABLE, QueryRequest
from dal.table.items import ABSENT, Action, Item, unchanged

_AT_ONCE = 100
"""Number of comments that one BatchGetItem reads. This is DynamoDB's maximum."""

CHANGING = "Other requests keep changing this comment's case: try again in a moment."


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

    def put(self, case: Case) -> Action:
        """Return an action that stores ``case`` in place of the case that was read.

        The action fails if the stored case has changed since then. If ``case`` is closed and has no
        decision, the action deletes the stored case.
        """
        as_read = ABSENT if self.item is None else unchanged(self.item, ("data",))
        if case == Case(case.comment_id):
            return {"Delete": {"Key": case_key(case.comment_id), **as_read}}
        return {"Put": {"Item": CASE.encode(case), **as_read}}

    def corrected(self, *, hidden: bool) -> Case:
        """Return the case that the reports require.

        The case is open if one of ``reports`` is newer than the latest decision. Otherwise the case
        is closed if all reports of the comment were read, and stays as it is if some were not. An
        open case gets ``hidden``, which is True if the comment is not published.
        """
        opened_at = self.case.opened_at
        if self.undecided:
            opened_at = opened_at or self.undecided[0].at
        elif self.complete:
            opened_at = None
        return replace(self.case, opened_at=opened_at, hidden=hidden and opened_at is not None)


async def read_case(
    table: Table, comment_id: str, limit: int = MOST_READ, *, consistent: bool = True
) -> StoredCase:
    """Return the case of a comment and up to ``limit`` of its reports (access pattern AP16).

    The read is one Query.
    """
    partition = case_partition(comment_id)
    request = QueryRequest(TABLE, partition, CASE_ITEMS, limit=limit + 1, consistent=consistent)
    response = await table.query(request)
    case, item, reports = Case(comment_id), None, list[Report]()
    for one in response.items:
        with suppress(*UNREADABLE):  # skip an item that another program wrote
            if is_report(one):
                reports.append(decode_report(one))
            else:
                item = one
                case = case_in(one)
    complete = response.last_key is None and len(reports) <= limit
    return StoredCase(case, reports[:limit], item, complete)


async def write_case(table: Table, read: StoredCase, case: Case) -> None:
    """Write a case. Raise ConflictError if it has changed since it was read."""
    try:
        await table.write([read.put(case)])
    except errors.ConditionFailedError:
        raise errors.ConflictError(CHANGING) from None


async def correct_case(table: Table, comment_id: str, *, hidden: bool | None = None) -> int:
    """Open, close or hide the case of a comment, as ``StoredCase.corrected`` describes.

    ``hidden`` is True if the comment is not published; with None, the case keeps its ``hidden``.
    Return 1 if the comment was added to the queue, -1 if it was removed, otherwise 0. After each
    write, the case is read again, until it needs no correction. Raises ConflictError if other
    requests keep changing the case.
    """
    rows = 0

    async def attempt() -> None:
        nonlocal rows
        while True:
            read = await read_case(table, comment_id)
            case = read.corrected(hidden=read.case.hidden if hidden is None else hidden)
            if case == read.case:
                return
            await write_case(table, read, case)
            rows += case.listed - read.case.listed

    await retry_on_conflict(attempt)
    return rows


async def with_cases(table: Table, changes: Sequence[CommentChange]) -> list[CommentChange]:
    """Return the changes, with added actions that hide or list the open cases of comments.

    The queue lists an open case only while its comment is published. So if a change unpublishes or
    publishes a comment, the returned change also hides or lists its open case. A change with
    further actions (``beside``) is returned unchanged, because these actions already write the
    case.
    """
    moved: dict[int, str] = {}
    for number, change in enumerate(changes):
        one = stored(change.old)
        if one is None or change.beside or stored(change.image) is None:
            continue
        if (change.before is None) is not (change.after is None):
            moved[number] = one.comment_id
    items = await table.get_many([case_key(one) for one in moved.values()]) if moved else []
    cases = {case.comment_id: StoredCase(case, (), item) for item, case in _readable(items)}
    followed = list(changes)
    for number, comment_id in moved.items():
        read, hidden = cases.get(comment_id), changes[number].after is None
        if read is not None and read.case.opened_at is not None and read.case.hidden is not hidden:
            action = read.put(replace(read.case, hidden=hidden))
            followed[number] = replace(changes[number], beside=[action])
    return followed


def _readable(items: Iterable[Item]) -> Iterator[tuple[Item, Case]]:
    for item in items:
        with suppress(*UNREADABLE):  # skip an item that another program wrote
            yield item, case_in(item)


class Cases:
    """Corrects the cases of comments that a scan has found, and counts the corrections.

    A process that is killed between two writes can leave a wrong case. ``correct`` opens the cases
    of comments with reports after the latest decision, and closes the other cases. It hides the
    cases of unpublished comments, and removes the cases, reports and votes of deleted comments.
    ``opened`` is the number of comments that were added to the queue, ``closed`` the number that
    were removed from the queue, and ``removed`` the number of deleted comments.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self.opened = 0
        self.closed = 0
        self.removed = 0

    async def correct(self, comment_ids: Iterable[str]) -> None:
        """Correct the cases of these comments.

        ``comment_ids`` must include each comment that has a report or a decision, and each deleted
        comment that still has votes.
        """
        for some in batched(sorted(comment_ids), _AT_ONCE):
            items = await self._table.get_many([comment_key(one) for one in some])
            there = {item["PK"]["S"]: item for item in items}
            for comment_id in some:
                item = there.get(comment_key(comment_id)["PK"]["S"])
                if item is None or is_tombstone(item):
                    await remove_reactions(self._table, comment_id)
                    self.removed += 1
                elif stored(item) is not None:
                    hidden = comment_in(item) is None
                    # A conflict is ignored: the requests that change the case also correct it.
                    with suppress(errors.ConflictError):
                        rows = await correct_case(self._table, comment_id, hidden=hidden)
                        self.opened += rows > 0
                        self.closed += rows < 0
