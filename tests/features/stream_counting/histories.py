"""Histories: random writes without counter updates, and checks of the counters."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dal.dynamodb import admin
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT, comment_key
from dal.model import RATINGS, Comment
from features.stream_counting.applier import Record
from features.stream_counting.checkpoints import Checkpoints, label_of
from features.stream_counting.follower import open_follower
from features.stream_counting.rebuild import begin
from features.stream_counting.streams import Streams
from tests import oracle, recount
from tests.amazon import amazon_of, settle
from tests.strategies import comment

PRODUCTS = ("41", "42", "43")


@dataclass(frozen=True)
class Step:
    """A change of a comment from ``old`` to ``new``. None means that the comment does not exist."""

    old: Comment | None
    new: Comment | None


def history(seed: int, length: int) -> Iterator[Step]:
    """Yield random adds, deletions, and edits of rating, language, product or text."""
    chance = random.Random(seed)
    fresh = iter(oracle.make_comments("h", length, seed=seed))
    living: list[Comment] = []
    for _ in range(length):
        kind = chance.choices(("add", "delete", "edit"), (5, 2, 4))[0]
        if kind == "add" or not living:
            new = next(fresh)._replace(product_id=chance.choice(PRODUCTS))
            living.append(new)
            yield Step(None, new)
        elif kind == "delete":
            yield Step(living.pop(chance.randrange(len(living))), None)
        else:
            place = chance.randrange(len(living))
            old, living[place] = living[place], edited(living[place], chance)
            yield Step(old, living[place])


def edited(comment: Comment, chance: random.Random) -> Comment:
    changes: dict[str, Any] = {
        "rating": chance.choice(RATINGS),
        "language": chance.choice(("en", "de", "pt-BR")),
        "product_id": chance.choice(PRODUCTS),
        "text": f"Edited {chance.random()}",
    }
    kept = chance.sample(sorted(changes), chance.randrange(1, 4))
    return comment._replace(**{name: changes[name] for name in kept})


async def write_raw(table: Table, steps: Sequence[Step] | Iterator[Step]) -> None:
    """Write comments without updating counters."""
    for step in steps:
        if step.new is not None:
            await table.put_many([COMMENT.encode(step.new)])
        elif step.old is not None:
            await table.write([{"Delete": {"Key": comment_key(step.old.comment_id)}}])


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
    arn = await admin.stream(table)
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


async def check_all(table: Table) -> int:
    """Assert that the counters of all products are correct. Return the number of comments."""
    return sum([len(await recount.check(table, product)) for product in PRODUCTS])


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
