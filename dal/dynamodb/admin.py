"""Creates and describes the table, and switches its time to live (TTL) on."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any

from dal.dynamodb.errors import (
    AlreadyExistsError,
    NoTableError,
    StoreUnavailableError,
    UnknownOperationError,
)
from dal.dynamodb.retries import retry
from dal.dynamodb.table import Table
from dal.table.definition import table_definition
from dal.table.index import EXPIRES, Index
from dal.table.items import ABSENT, primary_key

ACTIVE_SECONDS = 60.0
_CHECK_SECONDS = 1.0


async def create(table: Table, indexes: Sequence[Index]) -> bool:
    """Create the table, and wait until it is active. Return False if it exists already."""
    try:
        definition = table_definition(table.name, indexes)
        await retry(partial(table.once, "create_table", **definition), "create_table")
        created = True
    except AlreadyExistsError:
        created = False
    await wait_until_active(table)
    return created


async def let_expire(table: Table) -> bool:
    """Switch the table's time to live (TTL) on. DynamoDB then deletes expired items.

    Return False if the TTL was on already, or if the endpoint does not support it.
    """
    if await expires(table):
        return False
    try:
        await table.call(
            "update_time_to_live",
            TimeToLiveSpecification={"Enabled": True, "AttributeName": EXPIRES},
        )
    except UnknownOperationError:
        return False
    return True


async def expires(table: Table) -> bool:
    """Return whether the table's time to live is on. False if the endpoint does not support it."""
    try:
        response = await table.call("describe_time_to_live")
    except UnknownOperationError:
        return False
    return response["TimeToLiveDescription"]["TimeToLiveStatus"] in {"ENABLED", "ENABLING"}


async def check_transactions(table: Table) -> None:
    """Raise NoTransactionsError if the endpoint does not support transactions.

    The check sends a transaction that writes nothing. Commands that need transactions call this
    function before their first write.
    """
    await table.write([{"ConditionCheck": {"Key": primary_key("NOTHING"), **ABSENT}}])


async def describe(table: Table) -> dict[str, Any]:
    """Return DescribeTable's ``Table``; raise NoTableError if the table does not exist."""
    response = await table.call("describe_table")
    description: dict[str, Any] = response["Table"]
    return description


async def wait_until_active(table: Table) -> None:
    """Wait until the table is active. Raise StoreUnavailableError after ACTIVE_SECONDS."""
    end = monotonic() + ACTIVE_SECONDS
    while True:
        # Ignore NoTableError: DescribeTable is eventually consistent, and may not find a new table
        # yet. https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
        with suppress(NoTableError):
            if (await describe(table))["TableStatus"] == "ACTIVE":
                return
        if monotonic() > end:
            raise StoreUnavailableError(
                f"The table {table.name} does not become active: "
                "check its status in the DynamoDB console."
            )
        await asyncio.sleep(_CHECK_SECONDS)
