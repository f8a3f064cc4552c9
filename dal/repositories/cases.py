"""Reads, writes and corrects cases: the reports of a comment and the moderators' decision on it."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from dal import errors
from dal.client.concurrency import batched
from dal.client.table import Table
from dal.entities.case import (
    CASE,
    CASE_ITEMS,
    Case,
    case_in,
    case_partition,
    decode_report,
    is_report,
)
from dal.entities.comment import comment_in, comment_key, is_tombstone
from dal.entities.entity import UNREADABLE
from dal.model.reports import MOST_READ, Report
from dal.repositories.reactions import remove_reactions
from dal.table.index import TABLE, QueryRequest
from dal.table.items import ABSENT, Action, Item, unchanged

_AT_ONCE = 100
"""Number of comments in one BatchGetItem, DynamoDB's maximum."""

CHANGING = "Other requests keep changing this comment's case: try again in a moment."


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case and the reports of its comment, as they were read."""

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
        """Return an action that writes a case, if it has not changed since it was read."""
        as_read = ABSENT if self.item is None else unchanged(self.item, ("data",))
        return {"Put": {"Item": CASE.encode(case), **as_read}}


async def read_case(
    table: Table, comment_id: str, limit: int = MOST_READ, *, consistent: bool = True
) -> StoredCase:
    """Return the case of a comment and up to ``limit`` of its reports, by one Query (AP16)."""
    partition = case_partition(comment_id)
    request = QueryRequest(TABLE, partition, CASE_ITEMS, limit=limit + 1, consistent=consistent)
    response = await table.query(request)
    case, item, reports = Case(comment_id), None, list[Report]()
    for one in response.items:
        with suppress(*UNREADABLE):  # another program wrote the item
            if is_report(one):
                reports.append(decode_report(one))
            else:
                item = one
                case = case_in(one)
    complete = response.last_key is None and len(reports) <= limit
    return StoredCase(case, reports[:limit], item, complete)


async def open_case(table: Table, stored: StoredCase, since: datetime) -> None:
    """Put a case into the moderators' queue. Raise ConflictError if it has changed meanwhile."""
    case = Case(stored.case.comment_id, since, stored.case.decision)
    try:
        await table.write([stored.put(case)])
    except errors.ConditionFailedError:
        raise errors.ConflictError(CHANGING) from None


class Cases:
    """Corrects cases after a scan, where a deletion or a report stopped halfway.

    It removes the cases of deleted comments, and opens the cases of comments with undecided
    reports. ``opened`` and ``removed`` count the corrected cases.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self.opened = 0
        self.removed = 0

    async def correct(self, comment_ids: Iterable[str]) -> None:
        """Open or remove cases.

        ``comment_ids`` are all comments that have a report or a decision.
        """
        for some in batched(sorted(comment_ids), _AT_ONCE):
            items = await self._table.get_many([comment_key(one) for one in some])
            there = {item["PK"]["S"]: item for item in items}
            for comment_id in some:
                item = there.get(comment_key(comment_id)["PK"]["S"])
                if item is None or is_tombstone(item):
                    await remove_reactions(self._table, comment_id)
                    self.removed += 1
                elif comment_in(item) is not None:
                    await self._open(comment_id)

    async def _open(self, comment_id: str) -> None:
        stored = await read_case(self._table, comment_id)
        if stored.undecided and stored.case.opened_at is None:
            # another report or a moderator has changed the case meanwhile
            with suppress(errors.ConflictError):
                await open_case(self._table, stored, stored.undecided[0].at)
                self.opened += 1
