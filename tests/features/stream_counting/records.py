"""Streams that are counted from their first record, and their records."""

from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from features.stream_counting.applier import Record
from features.stream_counting.checkpoints import Checkpoints, label_of
from features.stream_counting.follower import open_follower
from features.stream_counting.rebuild import begin
from features.stream_counting.streams import Streams, stream_of
from tests.amazon import amazon_of, settle
from tests.strategies import comment


async def begin_counting(table: Table, streams: Streams) -> None:
    """Start a stream whose records are counted from the first one."""
    arn, before = await begin(table, streams)
    await Checkpoints(table, label_of(arn)).begin(before, streams.now())


def one_shard(table: Table) -> None:
    """Make the next stream on Amazon's fake a single shard without late records."""
    amazon = amazon_of(table)
    if amazon is not None:
        amazon.streams.shards, amazon.streams.capacity, amazon.streams.late = 1, 10**9, 0


async def all_records(table: Table, streams: Streams) -> tuple[str, list[Record]]:
    """Return the id of the stream's only shard, and all its records."""
    arn = await stream_of(table)
    assert arn is not None
    (shard,) = (await streams.describe(arn)).shards
    iterator = await streams.iterator(arn, shard.shard_id, after=None)
    found: list[Record] = []
    while (answer := await streams.records(iterator)).records:
        found += answer.records
        assert answer.iterator is not None
        iterator = answer.iterator
    return shard.shard_id, found


async def catch_up(table: Table, streams: Streams) -> None:
    """Run the follower until no record is left."""
    settle(table)
    follower = await open_follower(table, streams)
    while await follower.round():
        pass


def made(sequence: int, product_id: str) -> Record:
    """Return the stream record of an added comment."""
    item = COMMENT.encode(comment(f"{product_id}-{sequence}", product_id=product_id))
    return {
        "eventID": f"event-{sequence}",
        "dynamodb": {
            "Keys": {"PK": item["PK"], "SK": item["SK"]},
            "NewImage": item,
            "SequenceNumber": str(sequence),
        },
    }
