"""The Lambda handler: applies the records that an event source mapping of the stream delivers.

Lambda delivers a record at least once, without its shard. So the transaction that applies a record
also writes a marker under the record's event id, and a record with a marker is skipped. A rebuild
writes markers too, so the mapping of a rebuilt table's new stream begins at TRIM_HORIZON; until the
rebuild ends, deliveries fail and are repeated. A delivery fails as a whole, by an exception: the
applied records have markers, and a partial-failure report would count as success in a mapping that
does not request one.
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
"""Clients kept between the invocations of one process, since opening one takes a second."""


def handler(event: dict[str, Any], context: object) -> None:
    """Apply an event's records. After a DalError, Lambda delivers all of them again.

    The environment variable ``MARGINALIA_TABLE`` names the table.
    """
    del context
    records = _records_of(event)
    _runner().run(_handle(records, TableAddress(os.environ["MARGINALIA_TABLE"])))


def _records_of(event: dict[str, Any]) -> Sequence[Record]:
    """Return an event's records; raise StoreRefusedError if they are not of a table's stream."""
    records: Sequence[Record] = event.get("Records", [])
    if not records or not all("dynamodb" in record for record in records):
        raise StoreRefusedError(
            "The event has no records of a table's stream: invoke the function through an event "
            "source mapping."
        )
    return records


async def close() -> None:
    """Close the kept clients."""
    _tables.clear()
    await _clients.aclose()


async def _handle(records: Sequence[Record], address: TableAddress) -> None:
    if address not in _tables:
        _tables[address] = await _clients.enter_async_context(connect(address))
    await apply(_tables[address], records)


async def apply(table: Table, records: Sequence[Record]) -> None:
    """Apply the records of one shard in order, up to the first DalError."""
    _check_images(records)
    stream = label_of(records[0]["eventSourceARN"]) if records else ""
    maintenance, boards = MaintenanceStore(table), Boards(table)
    try:
        for part in parts(changes_of(records), actions_each=1):
            try:
                await _apply_once(table, maintenance, boards, stream, part)
            except DalError as error:
                _log.error("Stopped before record %s: %s", part[0].sequence, error)
                raise
    finally:  # no code runs between invocations
        await boards.finish()


def _check_images(records: Sequence[Record]) -> None:
    """Raise StoreRefusedError if records lack images, since they would change no counter."""
    whole = WHOLE_IMAGES["StreamViewType"]
    if any(record["dynamodb"].get("StreamViewType", whole) != whole for record in records):
        raise StoreRefusedError(
            f"The stream lacks images of a change: switch it off and on with {whole}, then "
            "run `marginalia stats rebuild --mode stream`."
        )


async def _apply_once(
    table: Table, maintenance: MaintenanceStore, boards: Boards, stream: str, part: Sequence[Change]
) -> None:
    """Apply the changes of a part that have no marker yet."""
    left = list({change.event: change for change in part}.values())

    async def attempt() -> None:
        nonlocal left
        try:
            marks = [mark(stream, change.event) for change in left]
            await apply_deltas(table, maintenance, boards, marks, total(left))
        except ConditionFailedError as error:
            left = [one for number, one in enumerate(left) if number not in error.failed]
            if left:
                raise ConflictError(
                    "Another delivery applies the same records: they will be delivered again."
                ) from None

    await retry_on_conflict(attempt)
