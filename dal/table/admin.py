"""What is done to a table as a whole: its creation, its description, the stream of its changes."""

from collections.abc import Sequence
from typing import Any

from dal.errors import AlreadyExistsError
from dal.table.client import Table
from dal.table.definition import table_definition
from dal.table.index import EXPIRES, Index
from dal.table.streams import WHOLE_IMAGES, stream_of


async def create(table: Table, indexes: Sequence[Index]) -> bool:
    """Create the table where there is none and wait until it is active; True when created."""
    definition = table_definition(table.name, indexes)
    try:
        await table.once("create_table", **definition)
    except AlreadyExistsError:
        if (await describe(table))["TableStatus"] != "ACTIVE":
            await table.wait_until_active()
        return False
    await table.wait_until_active()
    await table.call(
        "update_time_to_live",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": EXPIRES},
    )
    return True


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
    await table.wait_until_active()
