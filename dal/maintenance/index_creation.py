"""Adds global indexes to a table that holds items: one at a time, as DynamoDB requires."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dal.client import admin
from dal.client.table import Table
from dal.errors import (
    AlreadyExistsError,
    StoreRefusedError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.table.definition import string_attribute

Tell: TypeAlias = Callable[[str, str], None]
"""Takes note of how far an index is: its name, and a few words."""

LOOK_EVERY = 5.0
"""Seconds between two looks at an index that is being made, which takes minutes at least."""

_AT_WORK = {"ACTIVE", "CREATING", "UPDATING"}


async def add_index(table: Table, definition: Mapping[str, Any], tell: Tell) -> None:
    """Make one global index, or wait for it where it is being made, until it can be read.

    ``definition`` is as CreateTable takes it. Where this is interrupted DynamoDB goes on by itself.
    """
    name = definition["IndexName"]
    keys = [one["AttributeName"] for one in definition["KeySchema"]]
    while name not in await _settled(table, tell):
        await _begin(
            table,
            name,
            tell,
            AttributeDefinitions=[string_attribute(key) for key in keys],
            GlobalSecondaryIndexUpdates=[{"Create": definition}],
        )


async def _begin(table: Table, name: str, tell: Tell, **change: Any) -> None:
    """Begin a change of the table's indexes, or wait a little where another one was begun."""
    try:
        await table.once("update_table", TableName=table.name, **change)
    except (AlreadyExistsError, ThrottledError):
        tell(name, "waits for another change of the table")
        await asyncio.sleep(LOOK_EVERY)
    except StoreUnavailableError:  # the change may have begun: the table's description shows it
        tell(name, "waits for DynamoDB, which does not answer")


async def _settled(table: Table, tell: Tell) -> set[str]:
    """Return the names of the table's global indexes, once none is being created or deleted."""
    while True:
        description = await admin.describe(table)
        if description["TableStatus"] not in _AT_WORK:
            raise StoreRefusedError(
                f"The table {table.name} is {description['TableStatus']}: look at it in DynamoDB."
            )
        indexes = description.get("GlobalSecondaryIndexes", [])
        busy = [one for one in indexes if one.get("IndexStatus", "ACTIVE") != "ACTIVE"]
        for one in busy:
            filled = ", its items are being copied" if one.get("Backfilling") else ""
            tell(one["IndexName"], f"{one['IndexStatus'].lower()}{filled}")
        if not busy and description["TableStatus"] == "ACTIVE":
            return {one["IndexName"] for one in indexes}
        await asyncio.sleep(LOOK_EVERY)
