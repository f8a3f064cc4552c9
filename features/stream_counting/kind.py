"""What commands on the whole table know of counting by the stream."""

from collections.abc import Mapping
from typing import Any

from dal.counts.mode import Maintenance, MaintenanceMode, MaintenanceStore, WaitForWriters
from dal.dynamodb import admin
from dal.dynamodb.scan import Progress
from dal.dynamodb.table import Table, TableAddress
from dal.kinds.counting_mode import CountingMode
from dal.kinds.item_kind import ItemKind
from features.stream_counting.streams import connect_streams, end_stream, latest_stream

KIND = ItemKind(
    holds=lambda item: item["PK"]["S"].startswith(("STREAM#", "EVENT#", "CANARY#")),
    labels={"STREAM": "stream", "EVENT": "stream"},
)


async def _rebuild(
    maintenance: MaintenanceStore,
    address: TableAddress,
    wait_for_writers: WaitForWriters,
    progress: Progress,
) -> None:
    from features.stream_counting.rebuild import rebuild  # noqa: PLC0415 - few commands need it

    async with connect_streams(address) as streams:
        await rebuild(maintenance, streams, wait_for_writers, progress)


async def leave(table: Table) -> None:
    """Switch the table's stream off if it has checkpoints.

    Only this program writes checkpoints. A stream without checkpoints may belong to another
    program.
    """
    if (arn := latest_stream(await admin.describe(table))) is None:
        return
    from features.stream_counting import checkpoints  # noqa: PLC0415 - few commands need it

    held = checkpoints.Checkpoints(table, checkpoints.label_of(arn))
    if await held.watermark() is not None:
        await end_stream(table)


def described(table: Mapping[str, Any], _: Maintenance) -> str:
    """Return the sentence of ``table describe`` about the stream."""
    if latest_stream(table) is not None:
        return "The stream of changes is on."
    return "The stream of changes is off. Only the maintenance mode 'stream' needs it."


MODE = CountingMode(
    mode=MaintenanceMode.STREAM,
    explained="'marginalia stats follow' or the Lambda function. Choose stream if other programs "
    "write to the table.",
    updated="`marginalia stats follow` or the Lambda function updates them",
    if_wrong="if `marginalia stats follow` has not applied all changes yet, wait and verify again. "
    "Otherwise run `marginalia stats rebuild`.",
    rebuild=_rebuild,
    leave=leave,
)
