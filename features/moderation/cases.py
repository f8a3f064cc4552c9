"""Reads, writes and corrects cases. A case is open while reports of a comment wait for a moderator.

The case also stores the moderators' latest decision on the comment. A rule of writes keeps the case
of a comment up to date.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from dal.counts.mode import Maintenance
from dal.dynamodb.concurrency import batched, in_parallel
from dal.dynamodb.retries import MAINTENANCE_DEADLINE, retry_on_change
from dal.dynamodb.table import Table
from dal.entities.comment import ALL, STATE, comment_in, comment_key
from dal.entities.submission import stored
from dal.table.entity import UNREADABLE
from dal.table.index import TABLE, QueryRequest
from dal.table.items import Action, Item, unchanged
from dal.writes.changes import CommentChange, WriteRule
from dal.writes.overwrite import NOTHING, Outcome, compared, overwrite, summed
from features.moderation.entity import (
    CASE,
    CASE_ITEMS,
    case_in,
    case_key,
    case_partition,
    commented_id,
    decode_report,
    encode_report,
    is_report,
)
from features.moderation.model import MOST_READ, Case, Decision, Report

_CASES_AT_ONCE = 16

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


async def put_reports(table: Table, reports: Sequence[Report]) -> Outcome:
    """Write reports. Each replaces the stored report of the same user and comment.

    The comments stay published. The caller writes their cases by ``put_cases``. If a case is
    missing, `marginalia stats verify` opens it.
    """
    return await overwrite(table, [[encode_report(one)] for one in reports])


async def put_cases(table: Table, cases: Sequence[Case]) -> Outcome:
    """Write cases. Each replaces the stored case of its comment.

    An open case is hidden if its comment is stored and not published, or deleted. The comments
    themselves do not change.
    """
    outcome = NOTHING
    latest = {one.comment_id: one for one in cases}
    for some in batched([*latest.values()], _CASES_AT_ONCE):
        async with table.pace.turn():
            outcomes = await in_parallel([_put_case(table, one) for one in some])
        outcome = outcome.plus(summed(outcomes))
    return outcome


async def _put_case(table: Table, case: Case) -> Outcome:
    async def attempt() -> Outcome:
        comment = await table.get(comment_key(case.comment_id))
        item = await table.get(case_key(case.comment_id))
        read, new = case_of(case.comment_id, item), case
        if new.opened_at is not None:
            # A report that was stored since the export may be later than the loaded case.
            times = filter(None, (read.case.reported_at, new.reported_at))
            hidden = comment is not None and comment_in(comment) is None
            new = replace(new, hidden=hidden, reported_at=max(times, default=None))
        image = CASE.encode(new)
        outcome = compared(item, image)
        if image != item:
            check = same_state(case.comment_id, comment)
            await table.write([check, {"Put": {"Item": image, **read.as_read}}])
        return outcome

    return await retry_on_change(attempt, THE_CASE, MAINTENANCE_DEADLINE)


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


def same_state(comment_id: str, item: Item | None, *more: str) -> Action:
    """Return an action that fails if a comment is not in the same state as its ``item``.

    It fails if the comment was published, unpublished, deleted or moved to another product. It also
    compares the attributes ``more``.
    """
    as_read = unchanged(item, (ALL.partition_key, STATE, *more))
    return {"ConditionCheck": {"Key": comment_key(comment_id), **as_read}}


class CaseRule(WriteRule):
    """Hides, lists or deletes the case of a comment in the transaction that changes the comment.

    The queue lists an open case only while its comment is published. So if a change unpublishes or
    publishes a comment, the rule also hides or lists its open case. Without an open case, the rule
    checks that no report opens one meanwhile. If a change deletes a comment, the rule also deletes
    its case. If the change has further actions of its caller (``beside``), one of these actions
    must write the case, and the rule adds no action.
    """

    follows_new = False

    def __init__(self, table: Table) -> None:
        self._table = table

    async def prepare(self, changes: Sequence[CommentChange]) -> None:
        """Read the cases of the comments that change, and note the actions on these cases."""
        moved: dict[str, CommentChange] = {}
        for change in changes:
            change.notes.pop(self, None)
            one = stored(change.old)
            if one is None or change.beside:
                continue
            deleted = stored(change.image) is None
            if deleted or (change.before is None) is not (change.after is None):
                moved[one.comment_id] = change
        items = await self._table.get_many([case_key(one) for one in moved]) if moved else []
        there = {commented_id(item): item for item in items}
        for comment_id, change in moved.items():
            read = case_of(comment_id, there.get(comment_id))
            hidden = read.case.opened_at is not None and change.after is None
            case = replace(read.case, hidden=hidden)
            if stored(change.image) is None:
                # ``deleted``, which follows, also removes a case that is opened meanwhile.
                if read.item is None:
                    continue
                case = Case(comment_id)
            change.notes[self] = [read.put(case)]

    def actions(self, change: CommentChange, state: Maintenance) -> Sequence[Action]:  # noqa: ARG002 - equal in all states
        """Return the action on the comment's case."""
        actions: Sequence[Action] = change.notes.get(self, ())
        return actions

    async def deleted(self, comment_id: str) -> None:
        """Delete the case and the reports of a deleted comment."""
        await self._table.delete_all(QueryRequest(TABLE, case_partition(comment_id), CASE_ITEMS))
