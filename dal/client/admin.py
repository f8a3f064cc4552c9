"""What is done to a table as a whole: its creation, its description, the stream of its changes."""

import asyncio
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import Any

from dal.client.retries import retry, retry_on_conflict
from dal.client.streams import WHOLE_IMAGES, stream_of
from dal.client.table import Table
from dal.errors import (
    AlreadyExistsError,
    ConflictError,
    NoTableError,
    NoTransactionsError,
    StoreUnavailableError,
    UnknownOperationError,
)
from dal.table.definition import table_definition
from dal.table.index import EXPIRES, Index
from dal.table.items import primary_key

ACTIVE_SECONDS = 60.0
_LOOK_EVERY = 1.0


async def create(table: Table, indexes: Sequence[Index]) -> bool:
    """Create the table where there is none and wait until it is active; True when created."""
    try:
        definition = table_definition(table.name, indexes)
        await retry(partial(table.once, "create_table", **definition), "create_table")
        created = True
    except AlreadyExistsError:
        created = False
    await _active(table)
    return created


async def let_expire(table: Table) -> bool:
    """Let DynamoDB delete the items whose time is over; False when it does so already."""
    if await expires(table):
        return False
    try:
        await table.call(
            "update_time_to_live",
            TimeToLiveSpecification={"Enabled": True, "AttributeName": EXPIRES},
        )
    except UnknownOperationError:  # of a service that deletes nothing
        return False
    return True


async def expires(table: Table) -> bool:
    """Return whether DynamoDB deletes the items whose time is over."""
    try:
        answer = await table.call("describe_time_to_live")
    except UnknownOperationError:
        return False
    return answer["TimeToLiveDescription"]["TimeToLiveStatus"] in {"ENABLED", "ENABLING"}


async def has_transactions(table: Table) -> bool:
    """Return whether the endpoint has transactions, by one that changes nothing."""
    check = {
        "TableName": table.name,
        "Key": primary_key("NOTHING"),
        "ConditionExpression": "attribute_not_exists(PK)",
    }
    asked = {"TransactItems": [{"ConditionCheck": check}], "ReturnConsumedCapacity": "TOTAL"}
    try:
        await retry(partial(table.once, "transact_write_items", **asked), "transact_write_items")
    except UnknownOperationError:
        return False
    return True


async def check_transactions(table: Table) -> None:
    """Raise NoTransactionsError before anything is written that needs transactions later."""
    if not await has_transactions(table):
        raise NoTransactionsError


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
    except NoTableError:
        # A table that has just been created may not be known everywhere yet.
        return "CREATING"
    return status


async def describe(table: Table) -> dict[str, Any]:
    """Return DescribeTable's ``Table``; NoTableError where there is none."""
    answer = await table.call("describe_table")
    description: dict[str, Any] = answer["Table"]
    return description


async def stream(table: Table) -> str | None:
    """Return the ARN of the stream of the table's changes; None where it is switched off."""
    return stream_of(await describe(table))


async def renew_stream(table: Table) -> str:
    """Switch the stream of the table's changes on; where it was on, off first.

    Return the ARN of the new stream, which has what changes from now on.
    """
    if await stream(table) is not None:
        await end_stream(table)
    # A description may tell of the stream before for a while; the answer does not.
    return str((await _switch_stream(table, WHOLE_IMAGES))["LatestStreamArn"])


async def end_stream(table: Table) -> None:
    """Switch the stream of the table's changes off."""
    await _switch_stream(table, {"StreamEnabled": False})


async def _switch_stream(table: Table, specification: dict[str, Any]) -> dict[str, Any]:
    """Return the table as the answer to the change describes it."""

    async def attempt() -> dict[str, Any]:
        try:
            return await table.call("update_table", StreamSpecification=specification)
        except AlreadyExistsError:  # DynamoDB's word for it is that the table is in use
            raise ConflictError(
                f"The table {table.name} is being changed: let that end, then run this again."
            ) from None

    answer = await retry_on_conflict(attempt, ACTIVE_SECONDS)
    await _active(table)
    changed: dict[str, Any] = answer["TableDescription"]
    return changed
