"""Announces the erasure of a user's data to running servers, so that they forget its texts.

An item of the table stores the id of the latest erasure. Each server reads this item regularly.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from dal.dynamodb.table import Table
from dal.table.errors import DalError
from dal.table.items import primary_key

LOOK_SECONDS = 5.0
"""Seconds between two reads of the item. An erasure waits longer after its announcement."""

_KEY = primary_key("MARKER#ERASURE")


async def announce(table: Table, erasure: str) -> None:
    """Store the id of an erasure, whose comments are deleted or anonymous already."""
    await table.put_many([_KEY | {"erasure": {"S": erasure}}])


async def watch(table: Table, erased: Callable[[str], None]) -> None:
    """Call ``erased`` with the id of each new erasure. The function ends when it is cancelled."""
    known = ""
    while True:
        with suppress(DalError):  # the next read may succeed
            item = await table.get(_KEY)
            if item is not None and item["erasure"]["S"] != known:
                known = item["erasure"]["S"]
                erased(known)
        await asyncio.sleep(LOOK_SECONDS)
