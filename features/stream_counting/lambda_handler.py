"""The Lambda handler: applies the records that an event source mapping of the stream delivers.

Lambda may deliver a record several times. Lambda does not report the record's shard, so the handler
cannot compare the record with the shard's checkpoint. Instead, the transaction that applies a
record also writes a marker with the record's event id, and the handler skips records that have a
marker. A rebuild writes markers for the records that it has counted. So the event source mapping
can start at TRIM_HORIZON, the oldest record of the new stream. Until the rebuild ends, the handler
fails, and Lambda delivers the records again.

If a record cannot be applied, the handler raises an exception, and Lambda delivers all records
again. The records that were applied have markers, so the handler skips them. The handler never
reports which records of a batch failed. If the event source mapping does not enable such reports,
Lambda takes a report for a success, and the failed records would be lost.
"""

import asyncio
import logging
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

from dal.counts.boards import Boards
from dal.counts.mode import MaintenanceStore
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.retries import retry_on_conflict
from dal.dynamodb.table import Table, TableAddress, connect
from dal.table.errors import DalError, StoreRefusedError
from dal.writes.transaction import commit
from features.stream_counting.applier import Change, Record, changes_of, check_mode, parts, total
from features.stream_counting.checkpoints import label_of, mark
from features.stream_counting.streams import WHOLE_IMAGES

_log = logging.getLogger(__name__)


_runner = cache(asyncio.Runner)
_clients = AsyncExitStack()
_tables: dict[TableAddress, Table] = {}
"""The clients of tables. They are kept between invocations, because opening a client takes a
second."""


def handler(event: dict[str, Any], context: object) -> None:
    """Apply the records of an event. After any error, Lambda delivers all these records again.

    The environment variable ``MARGINALIA_TABLE`` names the table.
    """
    del context
    records: Sequence[Record] = event.get("Records", [])
    if not records or not all("dynamodb" in record for record in records):
        raise StoreRefusedError(
            "The event has no records of a table's stream: invoke the function through an event "
            "source mapping."
        )
    address = TableAddress(os.environ["MARGINALIA_TABLE"])

    async def handle() -> None:
        if address not in _tables:
            _tables[address] = await _clients.enter_async_context(connect(address))
        await apply(_tables[address], records)

    _runner().run(handle())


async def apply(table: Table, records: Sequence[Record]) -> None:
    """Apply the records of one shard in order. Raise the first DalError."""
    # To count a change, the handler needs the item before and after the change. If the stream's
    # view type is not ``whole``, records lack at least one of these two images.
    whole = WHOLE_IMAGES["StreamViewType"]
    if any(record["dynamodb"].get("StreamViewType", whole) != whole for record in records):
        raise StoreRefusedError(
            f"The stream's records do not contain the items before and after each change: switch "
            f"the stream off, then on with {whole}, then run `marginalia stats rebuild --mode "
            "stream`."
        )
    stream = label_of(records[0]["eventSourceARN"]) if records else ""
    maintenance, boards = MaintenanceStore(table), Boards(table)

    async def apply_once(part: Sequence[Change]) -> None:
        """Apply those changes of a part that have no marker yet."""
        left = list({change.event: change for change in part}.values())

        async def attempt() -> None:
            nonlocal left
            now = await maintenance.current()
            check_mode(now)
            marks = [mark(stream, change.event) for change in left]
            try:
                await commit(table, now, [boards], marks, total(left))
            except ConditionFailedError as error:
                left = [one for number, one in enumerate(left) if number not in error.failed]
                if left:
                    raise ConflictError(
                        "Another delivery has applied some of these records: Lambda will deliver "
                        "the batch again."
                    ) from None

        await retry_on_conflict(attempt)

    try:
        for part in parts(changes_of(records), actions_each=1):
            try:
                await apply_once(part)
            except DalError as error:
                _log.error("Stopped before record %s: %s", part[0].sequence, error)
                raise
    finally:
        # Move the products on leaderboards now, because Lambda may stop the process when the
        # handler returns.
        await boards.finish()
