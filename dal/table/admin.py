"""What is done to a table as a whole: its creation, its description, the stream of its changes."""

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import Any

from dal.errors import AlreadyExistsError, StoreRefusedError, StoreUnavailableError
from dal.table.client import Table
from dal.table.definition import table_definition
from dal.table.index import EXPIRES, Index
from dal.table.streams import WHOLE_IMAGES, stream_of

ACTIVE_SECONDS = 60.0
_LOOK_EVERY = 1.0


async def create(table: Table, indexes: Sequence[Index]) -> bool:
    """Create the table where there is none and wait until it is active; True when created."""
    definition = table_definition(table.name, indexes)
    try:
        await table.once("create_table", **definition)
    except AlreadyExistsError:
        if (await describe(table))["TableStatus"] != "ACTIVE":
            await _active(table)
        return False
    await _active(table)
    await table.call(
        "update_time_to_live",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": EXPIRES},
    )
    return True


async def _active(table: Table) -> None:
    """Wait until the table is active; StoreUnavailableError when a minute does not do."""
    end = monotonic() + ACTIVE_SECONDS
    while await _status(table) != "ACTIVE":
        if monotonic() > end:
            raise StoreUnavailableError(
                f"The table {table.name} does not become active: look at it in DynamoDB."
            )
        await asyncio.sleep(_LOOK_EVERY)


async def _status(table: Table) -> str:
    try:
        status: str = (await describe(table))["TableStatus"]
    except StoreRefusedError:
        # A table that has just been created may not be known everywhere yet.
        return "CREATING"
    return status


async def describe(table: Table) -> dict[str, Any]:
    """Return DescribeTable's ``Table``; StoreRefusedError where there is none."""
    answer = await table.call("describe_table")
    description: dict[str, Any] = answer["Table"]
    return description


async def stream(table: Table) -> str | None:
    """Return the ARN of the stream of the table's changes; None where it is switched off."""
    return stream_of(await describe(table))


async def renew_stream(table: Table) -> None:
    """Switch the stream of the table's changes on; where it was on, off first.

    The new stream has an ARN of its own, and what changes from now on.
    """
    if await stream(table) is not None:
        await end_stream(table)
    await _switch_stream(table, WHOLE_IMAGES)


async def end_stream(table: Table) -> None:
    """Switch the stream of the table's changes off."""
    await _switch_stream(table, {"StreamEnabled": False})


async def _switch_stream(table: Table, specification: dict[str, Any]) -> None:
    await table.call("update_table", StreamSpecification=specification)
    await _active(table)
