"""The beginning of a stream that is counted: what was in the table before comes from a recount."""

from datetime import UTC, datetime

from dal.counting import CountingStore
from dal.dynamodb import Table
from dal.errors import StoreRefusedError
from dal.streams import Streams
from stream.applier import Applier
from stream.checkpoints import Checkpoint, Checkpoints, label_of


async def begin(table: Table, streams: Streams) -> None:
    """Switch a new stream of the table on, whose changes are counted from its first record.

    Nobody may write comments until it returns; then whoever writes must leave counting to the
    stream. The counters must be exact by then, or be recounted before any write. Done again, it
    begins again. Followers of an earlier stream end by themselves.
    """
    began = datetime.now(UTC)
    await table.renew_stream()
    arn = await table.stream()
    if arn is None:
        raise StoreRefusedError("The table's stream was switched off at once: try again.")
    checkpoints = Checkpoints(table, label_of(arn))
    applier = Applier(table, checkpoints, CountingStore(table))
    for shard in (await streams.describe(arn)).shards:
        # The embedded engine goes on with the records of the stream before.
        if shard.last is not None:
            await applier.skip(Checkpoint(shard.shard_id), shard.last)
    # It comes last: a follower refuses a stream without it.
    await checkpoints.raise_watermark(began)
