"""Switches the table's stream on for a rebuild, and off when nobody applies it any more."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from dal.client import admin
from dal.client.streams import Shard, Streams, latest_stream
from dal.client.table import Table
from dal.errors import NoTableError, StoreUnavailableError
from dal.stream.checkpoints import Checkpoint, Checkpoints, label_of
from dal.stream.records import sequence_of

_FULL = 1_000
"""Records of an answer that others may follow."""

_LOOK_EVERY = 0.5
"""Seconds."""


async def begin(table: Table, streams: Streams) -> tuple[str, list[Checkpoint]]:
    """Switch a new stream on; return its ARN, and checkpoints of what was in it before.

    Followers of an earlier stream end by themselves.
    """
    arn = await admin.renew_stream(table)
    shards = await _shards(streams, arn)
    # The embedded engine goes on with the records of the stream before, and tells so of an open
    # shard. Elsewhere a new stream has nothing from before.
    parents = {shard.parent for shard in shards}
    kept = [one.shard_id for one in shards if one.last is not None and one.shard_id not in parents]
    return arn, [Checkpoint(shard, await _latest(streams, arn, shard)) for shard in kept]


async def _shards(streams: Streams, arn: str) -> Sequence[Shard]:
    """Return the shards of a stream that was just switched on, once it works and has some."""
    end = monotonic() + admin.ACTIVE_SECONDS
    while monotonic() < end:
        with suppress(NoTableError):  # it may not be known everywhere yet
            stream = await streams.describe(arn)
            if stream.enabled and stream.shards:
                return stream.shards
        await asyncio.sleep(_LOOK_EVERY)
    raise StoreUnavailableError(
        "The table's stream does not become active: look at it in DynamoDB, then run this again."
    )


async def _latest(streams: Streams, arn: str, shard: str) -> str | None:
    """Return the number of a shard's last record: of numbers as text, 9 is after 10."""
    latest, iterator = None, await streams.iterator(arn, shard, after=None)
    while True:
        answer = await streams.records(iterator)
        if not answer.records or answer.iterator is None:
            return latest
        latest, iterator = sequence_of(answer.records[-1]), answer.iterator
        if len(answer.records) < _FULL:  # others may write all the while
            return latest


async def end(table: Table) -> None:
    """Switch the table's stream off if it has checkpoints; another's stream is left alone."""
    arn = latest_stream(await admin.describe(table))
    if arn is not None and await Checkpoints(table, label_of(arn)).watermark() is not None:
        await admin.end_stream(table)
