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
an earlier version, which does not know the limit. ``kind.ReservationCorrection``
corrects the reservations afterwards.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from dal.counts.mode import MaintenanceStore, WaitForWriters
from dal.dynamodb import admin
from dal.dynamodb.concurrency import batched
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.retries import MAINTENANCE_DEADLINE, retry_on_conflict
from dal.dynamodb.scan import Progress, ResumableScan
from dal.dynamodb.table import Table
from dal.entities.comment import comment_key
from dal.entities.submission import stored
from dal.model import Comment
from dal.model.submissions import Submission
from dal.table.errors import DalError
from dal.table.index import TABLE, QueryRequest, query_all
from dal.table.items import Action, Item, key_of, key_pair, primary_key, unchanged
from dal.table.key_parts import escape, unescape
from dal.writes.changes import MOST_ACTIONS
from features.one_per_person.entity import NAMED, commented, commented_key
from features.one_per_person.model import SWITCH, OnePerPerson, extras, is_limited, limit_of
from features.one_per_person.write_rule import (
    Key,
    others_of,
    same_owner,
    unnamed_among,
)

FURTHER = "COMMENTED"
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
    store = MaintenanceStore(table, [SWITCH])
    state = await store.read()
    if limit_of(state) is not OnePerPerson.ON:
        await admin.check_transactions(table)
        if limit_of(state) is OnePerPerson.OFF:
            state = await store.announce(state, extras=extras(state, OnePerPerson.MARKING))
        await wait_for_writers()
        scan = ResumableScan(table, f"{FURTHER}#{state.since}", _PROGRESS_SECONDS)
        await scan.run(partial(name_comments, table), progress)
        latest = await store.read()
        # If another command turned the limit off and on again during the scan, comments may have
        # been added without reservations.
        if latest.since != state.since:
            raise ConflictError(
                "Another command has changed the maintenance mode of this table: run the same "
                "command again."
            )
        await store.announce(latest, extras=extras(latest, OnePerPerson.ON))
        with suppress(DalError):  # after an error, the progress stays until it expires
            await table.write([{"Delete": {"Key": key}} for key in scan.keys])
    return await _further(table)


async def switch_off(table: Table) -> None:
    """Allow any number of comments per user and product.

    Raises StoreRefusedError during a rebuild or an upgrade, and ConflictError if another command
    changes the maintenance mode meanwhile.
    """
    store = MaintenanceStore(table, [SWITCH])
    state = await store.read()
    if is_limited(state):
        await store.announce(state, extras=extras(state, OnePerPerson.OFF))


async def name_comments(table: Table, items: Sequence[Item]) -> None:
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
                by_owner.setdefault(key_pair(commented_key(one)), []).append((one, item))
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
    naming = {key_pair(item): item for item in await table.get_many(keys)}
    given = {one.comment_id for held in by_owner.values() for one, _ in held}
    others = {item[NAMED]["S"] for item in naming.values()} - given
    read = await table.get_many([comment_key(one) for one in others])
    found = {one.comment_id: (one, item) for item in read if (one := stored(item)) is not None}
    further: list[Item] = []
    actions: list[Action] = []
    for owner, held in by_owner.items():
        item = naming.get(owner)
        other = None if item is None else found.get(item[NAMED]["S"])
        if other is not None and key_pair(commented_key(other[0])) == owner:
            held.append(other)
        *older, newest = sorted(held, key=lambda one: (one[0].created_at, one[0].comment_id))
        further += [primary_key(FURTHER, escape(one.comment_id)) for one, _ in older]
        if item is None or item[NAMED]["S"] != newest[0].comment_id:
            as_read = unchanged(item, (NAMED,))
            put = {"Put": {"Item": commented(newest[0]), **as_read}}
            actions += [put, same_owner(key_of(newest[1]), newest[1])]
    await table.put_many(further)
    if actions:
        async with table.pace.turn():
            await retry_on_conflict(partial(table.write, actions), MAINTENANCE_DEADLINE)


async def _further(table: Table) -> list[Comment | Submission]:
    """Return the comments that exceed the limit, and delete outdated ids from ``COMMENTED``.

    A comment exceeds the limit if its author's reservation of the product is for another comment.
    An id is outdated if its comment was deleted, or if the reservation is now for this comment. If
    there is no reservation, the id stays. The author's next comment on the product will get the
    reservation, and the comment with this id then exceeds the limit again.
    """
    request = QueryRequest(TABLE, FURTHER, consistent=True)
    further: list[Comment | Submission] = []
    async for answer in query_all(table.query, request):
        ids = [unescape(item["SK"]["S"]) for item in answer.items]
        read = await table.get_many([comment_key(one) for one in ids])
        there = [one for item in read if (one := stored(item)) is not None]
        others = await retry_on_conflict(partial(others_of, table, there))
        further += [one for one in there if one.comment_id in others]
        unnamed = await unnamed_among(table, there)
        gone = [
            primary_key(FURTHER, escape(one))
            for one in ids
            if comment_key(one)["PK"]["S"] not in unnamed
        ]
        for keys in batched(gone, MOST_ACTIONS):
            await table.write([{"Delete": {"Key": key}} for key in keys])
    return further
