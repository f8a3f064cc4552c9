"""The beginning and the end of a stream that is counted."""

from dal.dynamodb import Table
from dal.errors import StoreRefusedError
from dal.streams import Streams, latest_stream
from stream.checkpoints import Checkpoint, Checkpoints, label_of
from stream.records import sequence_of

_FULL = 1_000
"""Records of an answer that others may follow."""


async def begin(table: Table, streams: Streams) -> tuple[str, list[Checkpoint]]:
    """Switch a new stream on; return its ARN, and what of it was there before.

    Followers of an earlier stream end by themselves.
    """
    await table.renew_stream()
    arn = await table.stream()
    if arn is None:
        raise StoreRefusedError("The table's stream was switched off at once: try again.")
    shards = (await streams.describe(arn)).shards
    # The embedded engine goes on with the records of the stream before, and tells so of an open
    # shard. Elsewhere a new stream has nothing from before.
    parents = {shard.parent for shard in shards}
    kept = [one.shard_id for one in shards if one.last is not None and one.shard_id not in parents]
    return arn, [Checkpoint(shard, await _latest(streams, arn, shard)) for shard in kept]


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
    """Switch the table's stream off if it was counted; others may use one that was not."""
    arn = latest_stream(await table.describe())
    if arn is not None and await Checkpoints(table, label_of(arn)).watermark() is not None:
        await table.end_stream()
