"""The upgrade of a table: its indexes, its expiry, and what its items lack."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dal.client import admin
from dal.client.parallel_scan import Progress
from dal.client.table import Table
from dal.entities import INDEXES
from dal.errors import StoreRefusedError
from dal.maintenance.announce import WaitForWriters
from dal.maintenance.index_creation import Tell, add_index
from dal.maintenance.key_backfill import KeyBackfill
from dal.statistics.maintenance_mode import MaintenanceMode, MaintenanceStore
from dal.table.definition import Differences, differences, has_declared_keys, listed


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
    tell: Tell,
    seen: Progress,
    wait_for_writers: WaitForWriters,
) -> Upgraded:
    """Upgrade a table to the layout of this version while servers run.

    ``tell`` reports each index, ``seen`` the progress of the scan. Raises StoreRefusedError, before
    any change, if DynamoDB cannot do the whole upgrade or the endpoint has no transactions. No
    rebuild starts during an upgrade. An
    upgrade that was interrupted continues when it is called again.
    """
    description = await admin.describe(table)
    _refuse_other_keys(description)
    maintenance = MaintenanceStore(table)
    state = await maintenance.read()
    found = differences(description, INDEXES)
    _refuse(description, found, global_for_local=global_for_local)
    if state.rebuilding:
        raise StoreRefusedError(
            "A rebuild of the statistics is not done: let it end, or run `marginalia stats "
            "rebuild` again, then run this again."
        )
    await admin.check_transactions(table)
    if not state.upgrading:
        await maintenance.announce(state, upgrading=True)
    for definition in (*found.missing, *found.missing_local):
        await add_index(table, definition, tell)
    expiry = await admin.let_expire(table)
    backfill = KeyBackfill(table, wait_for_writers)
    await backfill.run(seen)
    state = await maintenance.announce(await maintenance.read(), upgrading=False)
    counted = state.complete or state.mode is MaintenanceMode.STREAM
    return Upgraded(found.lacking, expiry, backfill.changed, uncounted=not counted)


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
