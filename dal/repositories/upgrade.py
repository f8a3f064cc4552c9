"""The upgrade of a table: its indexes, optional ones too, its expiry, and its items' keys."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from dal.entities.comment import BY_AUTHOR
from dal.entities.declared import EVERY, INDEXES, OPTIONAL
from dal.errors import StoreRefusedError
from dal.repositories.key_backfill import KeyBackfill
from dal.statistics.maintenance_mode import MaintenanceMode, MaintenanceStore
from dal.statistics.rebuild.announce import WaitForWriters
from dal.table import admin
from dal.table.client import Table
from dal.table.definition import Differences, differences, has_any, has_declared_keys, listed
from dal.table.index_creation import Tell, add_index, remove_index
from dal.table.parallel_scan import Progress

WaitForReaders: TypeAlias = Callable[[], Awaitable[None]]
"""Returns once every reader acts on what was announced."""


@dataclass(frozen=True, slots=True)
class Upgraded:
    """What an upgrade has done, and whether a rebuild of the counts is to follow."""

    indexes: list[str]
    expiry: bool
    items: int
    uncounted: bool


async def upgrade(
    table: Table,
    *,
    global_for_local: bool,
    author_index: bool = False,
    tell: Tell,
    seen: Progress,
    wait_for_writers: WaitForWriters,
) -> Upgraded:
    """Make a table what this version reads, as far as DynamoDB can; live servers may go on.

    With ``author_index`` it gets that one, too, as it does where it has had it before. ``tell``
    hears of each index, ``seen`` of the scan. Nothing is changed where DynamoDB cannot do all of
    it: that is StoreRefusedError. No move between numbers of shards, nor a rebuild, begins before
    it ends. Begun again after an interruption, it goes on.
    """
    description = await admin.describe(table)
    _refuse_other_keys(description)
    maintenance = MaintenanceStore(table)
    state = await maintenance.read()
    author_index = author_index or state.author_index or has_any(description, OPTIONAL)
    indexes = EVERY if author_index else INDEXES
    found = differences(description, indexes)
    _refuse(description, found, global_for_local=global_for_local)
    if state.layout.step:
        raise StoreRefusedError(
            "Comments move between numbers of shards: let that end by `marginalia table reshard "
            f"--shards {state.layout.target}`, then run this again."
        )
    if state.rebuilding:
        raise StoreRefusedError(
            "A rebuild of the statistics is not done: let it end, or run `marginalia stats "
            "rebuild` again, then run this again."
        )
    there = state.author_index and BY_AUTHOR.name not in found.lacking
    if not state.upgrading or there != state.author_index:
        state = await maintenance.announce(state, upgrading=True, author_index=there)
    for definition in (*found.missing, *found.missing_local):
        await add_index(table, definition, tell)
    expiry = await admin.let_expire(table)
    backfill = KeyBackfill(table, wait_for_writers, state.layout, indexes)
    await backfill.run(seen)
    state = await maintenance.announce(
        await maintenance.read(), upgrading=False, author_index=author_index
    )
    counted = state.complete or state.mode is MaintenanceMode.STREAM
    return Upgraded(found.lacking, expiry, backfill.changed, uncounted=not counted)


async def drop_author_index(table: Table, tell: Tell, wait_for_readers: WaitForReaders) -> bool:
    """Remove the index of authors, once nobody reads it; False where there is none.

    Comments keep its keys: they cost nothing without it. Raises StoreRefusedError while an upgrade
    is not done, which may be making it.
    """
    maintenance = MaintenanceStore(table)
    state = await maintenance.read()
    if state.upgrading:
        raise StoreRefusedError(
            "An upgrade of the table is not done: end it by `marginalia table upgrade`, then run "
            "this again."
        )
    if state.author_index:
        await maintenance.announce(state, author_index=False)
    if not has_any(await admin.describe(table), [BY_AUTHOR]):
        return False
    await wait_for_readers()
    return await remove_index(table, str(BY_AUTHOR.name), tell)


def _refuse_other_keys(description: Mapping[str, Any]) -> None:
    if not has_declared_keys(description):
        raise StoreRefusedError(
            f"The table {description['TableName']} has other keys, which DynamoDB cannot change: "
            "write its rows to a file and load them into a new table with `marginalia load`."
        )


def _refuse(description: Mapping[str, Any], found: Differences, *, global_for_local: bool) -> None:
    """Raise StoreRefusedError where DynamoDB cannot make the table what is declared."""
    table = description["TableName"]
    if found.differing:
        raise StoreRefusedError(
            f"In the table {table}, {listed(found.differing)} has other keys or projects less than "
            "this version reads, and DynamoDB cannot change that. Delete a global index with `aws "
            "dynamodb update-table` and run this again, which makes it anew; what reads it fails "
            "meanwhile. A local one needs a new table."
        )
    if found.missing_local and not global_for_local:
        names = listed([one["IndexName"] for one in found.missing_local])
        raise StoreRefusedError(
            f"The table {table} lacks the local {names.removeprefix('the ')}, and DynamoDB makes "
            "these with a table alone. With --global-for-local they become global ones: a user's "
            "orders then lag their writes by a moment."
        )
