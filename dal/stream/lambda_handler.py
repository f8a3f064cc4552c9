"""The Lambda handler: applies the records that an event source mapping of the stream delivers.

Lambda delivers a record at least once and does not say which shard it is of. So each record that
changes counters leaves a marker under its event id, in the transaction that applies it: a record
whose marker is there was applied before. A rebuild leaves markers of what it has applied, so the
mapping of a rebuilt table's new stream begins at TRIM_HORIZON. Until the rebuild ends, deliveries
fail and come again. A delivery fails as a whole, by an exception: what of it was applied has its
markers, and a list of failures would count as success wherever the mapping does not ask for one.
"""

import asyncio
import logging
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

from dal.client.retries import retry_on_conflict
from dal.client.streams import WHOLE_IMAGES
from dal.client.table import Table, TableAddress, connect
from dal.errors import ConditionFailedError, ConflictError, DalError, StoreRefusedError
from dal.statistics.boards import Boards
from dal.statistics.mode import MaintenanceStore
from dal.stream.applier import apply_deltas
from dal.stream.checkpoints import label_of, mark
from dal.stream.records import Change, Record, changes_of, parts, total

_log = logging.getLogger(__name__)


_runner = cache(asyncio.Runner)
_clients = AsyncExitStack()
_tables: dict[TableAddress, Table] = {}
"""What Lambda keeps between the invocations of one process: a client takes a second to make."""


def handler(event: dict[str, Any], context: object) -> None:
    """Apply an event's records; raises DalError, and Lambda delivers all of them again.

    The table's name is in the environment: ``MARGINALIA_TABLE``.
    """
    del context
    records = _records_of(event)
    _runner().run(_handle(records, TableAddress(os.environ["MARGINALIA_TABLE"])))


def _records_of(event: dict[str, Any]) -> Sequence[Record]:
    """Return the records of an event; StoreRefusedError where it is not of a table's stream."""
    records: Sequence[Record] = event.get("Records", [])
    if not records or not all("dynamodb" in record for record in records):
        raise StoreRefusedError(
            "The event has no records of a table's stream: invoke the function by an event source "
            "mapping of one."
        )
    return records


async def close() -> None:
    """Close the clients that were kept."""
    _tables.clear()
    await _clients.aclose()


async def _handle(records: Sequence[Record], address: TableAddress) -> None:
    if address not in _tables:
        _tables[address] = await _clients.enter_async_context(connect(address))
    await apply(_tables[address], records)


async def apply(table: Table, records: Sequence[Record]) -> None:
    """Apply records of one shard in their order; where one raises DalError, none after it."""
    _check_images(records)
    stream = label_of(records[0]["eventSourceARN"]) if records else ""
    maintenance, boards = MaintenanceStore(table), Boards(table)
    try:
        for part in parts(changes_of(records), actions_each=1):
            try:
                await _apply_once(table, maintenance, boards, stream, part)
            except DalError as error:
                _log.error("From record %s on nothing is applied: %s", part[0].sequence, error)
                raise
    finally:  # nothing runs between invocations
        await boards.finish()


def _check_images(records: Sequence[Record]) -> None:
    """Raise StoreRefusedError where the records lack images: they would count as no change."""
    whole = WHOLE_IMAGES["StreamViewType"]
    if any(record["dynamodb"].get("StreamViewType", whole) != whole for record in records):
        raise StoreRefusedError(
            f"The stream has not both images of each change: switch it off and on with {whole}, "
            "then run `marginalia stats rebuild --mode stream`."
        )


async def _apply_once(
    table: Table, maintenance: MaintenanceStore, boards: Boards, stream: str, part: Sequence[Change]
) -> None:
    """Apply those changes of a part that have no marker yet."""
    left = list({change.event: change for change in part}.values())

    async def attempt() -> None:
        nonlocal left
        try:
            marks = [mark(stream, change.event) for change in left]
            await apply_deltas(table, maintenance, boards, marks, total(left))
        except ConditionFailedError as error:
            left = [one for number, one in enumerate(left) if number not in error.failed]
            if left:
                raise ConflictError("Others apply the same records: they come again.") from None

    await retry_on_conflict(attempt)
