"""Creates the table, and upgrades a table of an earlier version while servers run.

The upgrade adds the global indexes that the table lacks, and the attributes that its items lack: an
index shows only items that have its keys. Each item is written on condition that it has not changed
since it was read. An interrupted upgrade continues when it is called again.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

import orjson

from dal.client import admin
from dal.client.concurrency import batched
from dal.client.retries import MAINTENANCE_DEADLINE, retry_on_conflict
from dal.client.scan import Progress
from dal.client.table import Table
from dal.entities import INDEXES
from dal.entities.comment import BY_AUTHOR, COMMENT, is_comment
from dal.entities.entity import Entity
from dal.entities.order import ORDER, is_order
from dal.entities.organization import ORGANIZATION_USER, is_organization_user
from dal.entities.ticket import TICKET, is_ticket
from dal.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    StoreRefusedError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.maintenance.resumable_scan import ResumableScan
from dal.statistics.mode import (
    KEY,
    Maintenance,
    MaintenanceMode,
    MaintenanceStore,
    WaitForWriters,
)
from dal.table.definition import (
    differences,
    has_declared_keys,
    listed,
    string_attribute,
    table_definition,
)
from dal.table.items import Action, Item, key_of

IndexProgress: TypeAlias = Callable[[str, str], None]
"""Shows the progress of an index: its name, and a few words."""

LOOK_EVERY = 5.0
"""Seconds between two calls of DescribeTable while an index is created, which takes minutes."""

_PROGRESS_SECONDS = 7 * 24 * 3600
"""How long an interrupted upgrade can continue its scan."""

_ITEMS_AT_ONCE = 25
"""Items of one transaction."""

_ENTITIES: Sequence[tuple[Callable[[Item], bool], Entity[Any]]] = (
    (is_comment, COMMENT),
    (is_order, ORDER),
    (is_ticket, TICKET),
    (is_organization_user, ORGANIZATION_USER),
)

_NOT_IN_PRODUCT_LISTS = frozenset({BY_AUTHOR.partition_key, "product", "createdAt"})
"""Attributes that a comment may lack and still be in the lists of its product."""


async def create_table(table: Table) -> bool:
    """Create the table if it does not exist; every comment of a new table is counted.

    On an endpoint without transactions the mode becomes stream, and comments are not counted, as no
    follower works there. Return whether anything was missing: this also completes an interrupted
    call.
    """
    created = await admin.create(table, INDEXES)
    expiry = await admin.let_expire(table)
    store = MaintenanceStore(table)
    state = await store.read()
    if state.exact:  # the endpoint had transactions when this was announced
        return created or expiry
    # An interrupted call leaves a table without items; this reads at most 1 MB.
    new = created or (
        state == Maintenance()
        and all(key_of(item) == KEY for item in (await table.scan(0, 1, None)).items)
    )
    if not await admin.has_transactions(table):
        if state.counted or state.rebuilding:
            await store.announce(
                state, mode=MaintenanceMode.STREAM, rebuilding=False, complete=False
            )
            return True
        return created or expiry
    if new:
        await store.announce(state, complete=True)
        return True
    return expiry


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The result of an upgrade; if comments are ``uncounted``, the statistics need a rebuild."""

    indexes: list[str]
    expiry: bool
    items: int
    uncounted: bool


async def upgrade(
    table: Table,
    *,
    index_progress: IndexProgress,
    scan_progress: Progress,
    wait_for_writers: WaitForWriters,
) -> Upgraded:
    """Upgrade a table to the layout of this version while servers run.

    Raises StoreRefusedError, before any change, if DynamoDB cannot do the whole upgrade or the
    endpoint has no transactions. No rebuild starts during an upgrade.
    """
    description = await admin.describe(table)
    if not has_declared_keys(description):
        raise StoreRefusedError(
            f"The table {table.name} has other keys, which DynamoDB cannot change: "
            "write its rows to a file and load them into a new table with `marginalia load`."
        )
    store = MaintenanceStore(table)
    state = await store.read()
    found = differences(description, INDEXES)
    if found.differing:
        raise StoreRefusedError(
            f"In the table {table.name}, {listed(found.differing)} has other keys or projects less "
            "than this version reads, and DynamoDB cannot change that. Delete a global index with "
            "`aws dynamodb update-table` and run this command again, which creates it; reads of "
            "the index fail meanwhile. A local index needs a new table."
        )
    if found.missing_local:
        names = listed([one["IndexName"] for one in found.missing_local])
        raise StoreRefusedError(
            f"The table {table.name} lacks the local {names.removeprefix('the ')}, which "
            "DynamoDB creates only with a table: run `marginalia export`, `marginalia table "
            "create` with another --table, and `marginalia load`."
        )
    if state.rebuilding:
        raise StoreRefusedError(
            "A rebuild of the statistics is not done: let it end, or run `marginalia stats "
            "rebuild` again, then run this again."
        )
    await admin.check_transactions(table)
    if not state.upgrading:
        await store.announce(state, upgrading=True)
    for definition in found.missing:
        await _add_index(table, definition, index_progress)
    expiry = await admin.let_expire(table)
    completed = await _complete_items(table, wait_for_writers, scan_progress)
    state = await store.announce(await store.read(), upgrading=False)
    counted = state.complete or state.mode is MaintenanceMode.STREAM
    return Upgraded(found.lacking, expiry, completed, uncounted=not counted)


async def _add_index(
    table: Table, definition: Mapping[str, Any], index_progress: IndexProgress
) -> None:
    """Create one global index, unless it exists, and wait until it can be read.

    DynamoDB creates one index at a time:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html
    If this call is interrupted, DynamoDB continues. ``definition`` is as CreateTable takes it.
    """
    name = definition["IndexName"]
    keys = [one["AttributeName"] for one in definition["KeySchema"]]
    while name not in await _active_indexes(table, index_progress):
        try:
            await table.once(
                "update_table",
                TableName=table.name,
                AttributeDefinitions=[string_attribute(key) for key in keys],
                GlobalSecondaryIndexUpdates=[{"Create": definition}],
            )
        except (AlreadyExistsError, ThrottledError):
            index_progress(name, "waits for another change of the table")
            await asyncio.sleep(LOOK_EVERY)
        except StoreUnavailableError:  # DynamoDB may create it: the table's description tells
            index_progress(name, "waits for DynamoDB, which does not answer")


async def _active_indexes(table: Table, index_progress: IndexProgress) -> set[str]:
    """Return the names of the global indexes, once none is being created or deleted."""
    while True:
        description = await admin.describe(table)
        if description["TableStatus"] not in {"ACTIVE", "CREATING", "UPDATING"}:
            raise StoreRefusedError(
                f"The table {table.name} is {description['TableStatus']}: look at it in DynamoDB."
            )
        indexes = description.get("GlobalSecondaryIndexes", [])
        busy = [one for one in indexes if one.get("IndexStatus", "ACTIVE") != "ACTIVE"]
        for one in busy:
            copying = ", its items are being copied" if one.get("Backfilling") else ""
            index_progress(one["IndexName"], f"{one['IndexStatus'].lower()}{copying}")
        if not busy and description["TableStatus"] == "ACTIVE":
            return {one["IndexName"] for one in indexes}
        await asyncio.sleep(LOOK_EVERY)


class _Gap(NamedTuple):
    """An item, and the attributes that it lacks."""

    entity: Entity[Any]
    item: Item
    lacking: Item

    @property
    def uncounted(self) -> bool:
        """Whether this is a comment that its product's lists did not show, nor counters count."""
        return self.entity is COMMENT and not self.lacking.keys() <= _NOT_IN_PRODUCT_LISTS


async def _complete_items(
    table: Table, wait_for_writers: WaitForWriters, progress: Progress
) -> int:
    """Add to every item the attributes that it lacks; return how many items lacked some."""
    completed, announcing, announced = 0, asyncio.Lock(), False

    async def announce() -> None:
        """Announce that not every comment is counted, so that no count of zero is trusted.

        In mode stream the follower counts the comments that the upgrade writes.
        """
        nonlocal announced
        async with announcing:
            if not announced:
                store = MaintenanceStore(table)
                state = await store.read()
                if state.mode is MaintenanceMode.TRANSACTIONAL and state.complete:
                    await store.announce(state, complete=False)
                    await wait_for_writers()
                announced = True

    async def complete(items: Iterable[Item]) -> None:
        nonlocal completed
        gaps = [gap for gap in map(_gap_of, items) if gap is not None]
        if any(gap.uncounted for gap in gaps):
            await announce()
        for batch in batched(gaps, _ITEMS_AT_ONCE):
            actions = [_action(gap) for gap in batch]
            try:
                async with table.pace.turn():
                    await retry_on_conflict(partial(table.write, actions), MAINTENANCE_DEADLINE)
            except ConditionFailedError:  # some items have changed since they were read
                await complete(await table.get_many([key_of(gap.item) for gap in batch]))
            else:
                completed += len(batch)

    # A version with other indexes begins its own scan.
    version = crc32(orjson.dumps(table_definition("", INDEXES)))
    scan = ResumableScan(table, f"UPGRADE#{version}", _PROGRESS_SECONDS)
    await scan.run(complete, progress)
    await table.write([{"Delete": {"Key": key}} for key in scan.keys])
    return completed


def _gap_of(item: Item) -> _Gap | None:
    """Return what an item lacks; None if it lacks nothing or cannot be decoded."""
    for holds, entity in _ENTITIES:
        if holds(item):
            found = entity.recover(item)
            whole = entity.encode(found) if found is not None else {}
            lacking = {name: value for name, value in whole.items() if name not in item}
            return _Gap(entity, item, lacking) if lacking else None
    return None


def _action(gap: _Gap) -> Action:
    """Return the update that adds what an item lacks, if the item is as it was read."""
    update = gap.entity.unchanged(gap.item, unpacked=True)
    update["ExpressionAttributeNames"] |= {f"#{name}": name for name in gap.lacking}
    update.setdefault("ExpressionAttributeValues", {}).update(
        {f":{name}": value for name, value in gap.lacking.items()}
    )
    added = ", ".join(f"#{name} = :{name}" for name in gap.lacking)
    return {"Update": {"Key": key_of(gap.item), "UpdateExpression": f"SET {added}", **update}}
