"""Turns the limit of one comment per user and product on or off, while servers write.

1. *Announce*: the command writes ``marking`` to the maintenance item (see ``dal.counts.mode``).
   After SETTLE_SECONDS, every server has read the item. From then on, each add of a comment also
   writes a reservation for its author and product (see ``entity``). An add is refused if the
   author's reservation of the product is for another comment.
2. *Mark*: a scan writes reservations for the older comments. If a user has several comments on a
   product, the reservation is for the newest comment. The partition ``COMMENTED`` keeps the ids of
   the user's other comments.
3. The command writes ``on`` to the maintenance item. Servers treat ``on`` and ``marking`` alike.

An interrupted command continues when it is run again. If the limit is turned off, the reservations
stay in the table, but writes no longer update them. When the limit is turned on again, the scan
updates the reservation for each pair of author and product that has a comment.

While the limit is on, another program may write comments without reservations. So may a server of
an earlier version, which does not know the limit. ``Names`` corrects the reservations afterwards.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

from dal.counts.mode import MaintenanceStore, OnePerPerson, WaitForWriters
from dal.dynamodb import admin
from dal.dynamodb.concurrency import batched, in_parallel
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.retries import MAINTENANCE_DEADLINE, retry_on_conflict
from dal.dynamodb.scan import SCAN_SEGMENTS, Progress, ResumableScan, scan_pages
from dal.dynamodb.table import Table
from dal.entities.comment import comment_key
from dal.entities.submission import stored
from dal.model import Comment
from dal.model.submissions import Submission
from dal.table.errors import DalError
from dal.table.index import TABLE, QueryRequest, query_all
from dal.table.items import Action, Item, key_of, primary_key, unchanged
from dal.table.key_parts import escape, unescape
from dal.writes.changes import MOST_ACTIONS
from features.one_per_person.entity import NAMED, commented, commented_key, is_commented
from features.one_per_person.write_rule import (
    Key,
    named,
    others_of,
    pair,
    same_owner,
    unnamed_among,
)

_FURTHER = "COMMENTED"
"""The partition key of items with comments' ids. The author of each of these comments has a newer
comment on the same product."""

_OWNERS_AT_ONCE = 50
"""Maximum reservations that one transaction writes. Each reservation needs two actions: a Put of
the reservation, and a check of its comment."""

_PROGRESS_SECONDS = 7 * 24 * 3600
"""Seconds after an interruption within which the command can continue its scan. Later, the scan
starts from the beginning."""

Held = tuple[Comment | Submission, Item]
"""A comment and its item."""


async def switch_on(
    table: Table, wait_for_writers: WaitForWriters, progress: Progress
) -> list[Comment | Submission]:
    """Allow only one comment per user and product. Return the comments that exceed the limit.

    The author of each returned comment has a newer comment on the same product. The returned
    comments stay in the table unchanged.

    Raises NoTransactionsError if the endpoint does not support transactions. Raises
    StoreRefusedError during a rebuild or an upgrade. Raises ConflictError if another command
    changes the maintenance mode meanwhile, or if other programs keep changing the same comments.
    """
    store = MaintenanceStore(table)
    state = await store.read()
    if state.one_per_person is not OnePerPerson.ON:
        await admin.check_transactions(table)
        if state.one_per_person is OnePerPerson.OFF:
            state = await store.announce(state, one_per_person=OnePerPerson.MARKING)
        await wait_for_writers()
        scan = ResumableScan(table, f"{_FURTHER}#{state.since}", _PROGRESS_SECONDS)
        await scan.run(partial(_name, table), progress)
        latest = await store.read()
        # If another command turned the limit off and on again during the scan, comments may have
        # been added without reservations.
        if latest.since != state.since:
            raise ConflictError(
                "Another command has changed the maintenance mode of this table: run the same "
                "command again."
            )
        await store.announce(latest, one_per_person=OnePerPerson.ON)
        with suppress(DalError):  # after an error, the progress stays until it expires
            await table.write([{"Delete": {"Key": key}} for key in scan.keys])
    return await _further(table)


async def switch_off(table: Table) -> None:
    """Allow any number of comments per user and product.

    Raises StoreRefusedError during a rebuild or an upgrade, and ConflictError if another command
    changes the maintenance mode meanwhile.
    """
    store = MaintenanceStore(table)
    state = await store.read()
    if state.one_per_person is not OnePerPerson.OFF:
        await store.announce(state, one_per_person=OnePerPerson.OFF)


class Names:
    """Corrects reservations by a scan, if the table allows only one comment per user and product.

    ``added`` is the number of reservations that were written, and ``removed`` the number of those
    that were deleted.
    """

    corrects = "the records by which servers allow only one comment per person"
    removes = ""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.added = 0
        self.removed = 0

    def scanned(self, items: Sequence[Item], comments: Sequence[Comment]) -> None:
        """Keep nothing, because ``correct`` scans again."""

    def suspects(self) -> Collection[str]:
        """Return no comments."""
        return ()

    def report(self) -> str:
        """Return how many reservations were missing or left over."""
        if not (self.added or self.removed):
            return ""
        return (
            f"One comment per person: {self.added:,} comments were not recorded. They are "
            f"recorded now. {self.removed:,} records of deleted comments are removed."
        )

    async def correct(self, suspects: Collection[str]) -> None:
        """Write missing reservations, and remove reservations of deleted comments.

        A comment that exceeds the limit, because its write arrived late, is added to the comments
        that ``switch_on`` returns.

        If the limit is off or is being turned on, this method changes nothing.
        """
        del suspects
        if (await MaintenanceStore(self._table).read()).one_per_person is not OnePerPerson.ON:
            return
        further: set[str] = set()
        request = QueryRequest(TABLE, _FURTHER, consistent=True)
        async for answer in query_all(self._table.query, request):
            further |= {unescape(item["SK"]["S"]) for item in answer.items}

        async def correct(segment: int) -> None:
            async for items, _ in scan_pages(self._table, segment):
                await self._add(items, further)
                await self._remove([item for item in items if is_commented(item)])

        removed = -1
        # Scan again after each scan with removals, because the author of a removed reservation may
        # have another comment, which needs a reservation.
        while removed != self.removed:
            removed = self.removed
            await in_parallel([correct(segment) for segment in range(SCAN_SEGMENTS)])

    async def _add(self, items: Sequence[Item], further: Collection[str]) -> None:
        there = [(one, item) for item in items if (one := stored(item)) is not None]
        keys = {pair(commented_key(one)): commented_key(one) for one, _ in there}
        owners = {
            pair(item): item[NAMED]["S"] for item in await self._table.get_many([*keys.values()])
        }
        unnamed = [
            item
            for one, item in there
            if owners.get(pair(commented_key(one))) != one.comment_id
            and one.comment_id not in further
        ]
        if unnamed:
            await _name(self._table, unnamed)
            self.added += len(unnamed)

    async def _remove(self, names: Sequence[Item]) -> None:
        keys = {item[NAMED]["S"]: comment_key(item[NAMED]["S"]) for item in names}
        found = await self._table.get_many([*keys.values()])
        owners = [commented(one) for item in found if (one := stored(item)) is not None]
        stale = [item for item in names if item not in owners]
        if stale:
            # ``named`` removes the stale reservations, then always raises ConflictError. Ignore the
            # error: if a removal failed, the next scan repeats it.
            with suppress(ConflictError):
                await named(self._table, stale)
            self.removed += len(stale)


async def _name(table: Table, items: Sequence[Item]) -> None:
    """Write reservations for the comments in a page of the scan.

    If a comment changes meanwhile, this function reads the page's comments again and retries. It
    raises ConflictError if comments still change after MAINTENANCE_DEADLINE.
    """
    read = list(items)

    async def attempt() -> None:
        nonlocal read
        by_owner: dict[Key, list[Held]] = {}
        for item in read:
            if (one := stored(item)) is not None:
                by_owner.setdefault(pair(commented_key(one)), []).append((one, item))
        try:
            for owners in batched(list(by_owner), _OWNERS_AT_ONCE):
                await _name_newest(table, {owner: by_owner[owner] for owner in owners})
        except ConditionFailedError:
            keys = [key_of(item) for held in by_owner.values() for _, item in held]
            read = await table.get_many(keys)
            raise ConflictError(
                "Other programs keep changing the same comments: run the same command again."
            ) from None

    await retry_on_conflict(attempt, MAINTENANCE_DEADLINE)


async def _name_newest(table: Table, by_owner: dict[Key, list[Held]]) -> None:
    """Write a reservation for the newest comment of each author and product.

    Write the ids of the author's older comments to the partition ``COMMENTED``.
    """
    keys = [commented_key(held[0][0]) for held in by_owner.values()]
    naming = {pair(item): item for item in await table.get_many(keys)}
    given = {one.comment_id for held in by_owner.values() for one, _ in held}
    others = {item[NAMED]["S"] for item in naming.values()} - given
    read = await table.get_many([comment_key(one) for one in others])
    found = {one.comment_id: (one, item) for item in read if (one := stored(item)) is not None}
    further: list[Item] = []
    actions: list[Action] = []
    for owner, held in by_owner.items():
        item = naming.get(owner)
        other = None if item is None else found.get(item[NAMED]["S"])
        if other is not None and pair(commented_key(other[0])) == owner:
            held.append(other)
        newest, *older = sorted(held, key=_age, reverse=True)
        further += [primary_key(_FURTHER, escape(one.comment_id)) for one, _ in older]
        if item is None or item[NAMED]["S"] != newest[0].comment_id:
            as_read = unchanged(item, (NAMED,))
            put = {"Put": {"Item": commented(newest[0]), **as_read}}
            actions += [put, same_owner(key_of(newest[1]), newest[1])]
    await table.put_many(further)
    if actions:
        async with table.pace.turn():
            await retry_on_conflict(partial(table.write, actions), MAINTENANCE_DEADLINE)


def _age(held: Held) -> tuple[datetime, str]:
    return held[0].created_at, held[0].comment_id


async def _further(table: Table) -> list[Comment | Submission]:
    """Return the comments that exceed the limit, and delete outdated ids from ``COMMENTED``.

    A comment exceeds the limit if its author's reservation of the product is for another comment.
    An id is outdated if its comment was deleted, or if the reservation is now for this comment. If
    there is no reservation, the id stays. The author's next comment on the product will get the
    reservation, and the comment with this id then exceeds the limit again.
    """
    request = QueryRequest(TABLE, _FURTHER, consistent=True)
    further: list[Comment | Submission] = []
    async for answer in query_all(table.query, request):
        ids = [unescape(item["SK"]["S"]) for item in answer.items]
        read = await table.get_many([comment_key(one) for one in ids])
        there = [one for item in read if (one := stored(item)) is not None]
        others = await retry_on_conflict(partial(others_of, table, there))
        further += [one for one in there if one.comment_id in others]
        unnamed = await unnamed_among(table, there)
        gone = [
            primary_key(_FURTHER, escape(one))
            for one in ids
            if comment_key(one)["PK"]["S"] not in unnamed
        ]
        for keys in batched(gone, MOST_ACTIONS):
            await table.write([{"Delete": {"Key": key}} for key in keys])
    return further
