"""The replay over shards that split."""

from datetime import UTC, datetime
from typing import Any

from dal.entities import idempotency
from dal.entities.comment import COMMENT, comment_key
from dal.maintenance.replay import Replay
from dal.statistics.counts import RatingCounts, StatisticsKey, deltas
from dal.stream.checkpoints import Checkpoint
from dal.stream.follower import Follower
from dal.stream.records import Record, changes_of
from dal.table.items import key_of
from tests.dal.stream.fakes import START, FakeStreams, shard_of
from tests.dal.stream.histories import made
from tests.strategies import ORDINARY, comment


def record(sequence: int, rating: int | None) -> Record:
    """A record of comment 1, which becomes ``rating`` stars, or is gone."""
    one = made(sequence, "42")
    images: dict[str, Any] = one["dynamodb"]
    images["Keys"] = comment_key("1")
    del images["NewImage"]
    if rating is not None:
        images["NewImage"] = COMMENT.encode(comment("1", rating=rating))
    return one


def stars(replay: Replay) -> tuple[int, ...]:
    return replay.counts().get(StatisticsKey("42", "en"), RatingCounts()).by_rating


async def test_the_last_record_counts_whatever_the_scan_saw() -> None:
    for scanned in (1, 2, 3, None):
        replay = Replay(START, [])
        item = None if scanned is None else COMMENT.encode(comment("1", rating=scanned))
        replay.remember(comment_key("1"), item)
        held = Checkpoint("a")
        for number, (rating, counts) in enumerate(
            [(1, (1, 0, 0, 0, 0)), (None, (0, 0, 0, 0, 0)), (3, (0, 0, 1, 0, 0))]
        ):
            held = await replay.apply(held, [record(number, rating)])
            assert stars(replay) == counts
        assert replay.counts().keys() == {StatisticsKey("42", "en")}


async def test_what_is_no_comment_is_not_remembered() -> None:
    replay = Replay(START, [])
    item = COMMENT.encode(comment("1"))
    replay.remember({"PK": {"S": "ORDER#1"}, "SK": {"S": "x"}}, item)
    replay.remember(comment_key("1"), item)
    replay.remember(comment_key("1"), {**item, "data": {"S": "none"}})
    assert replay.counts() == {}


async def test_parents_come_before_children() -> None:
    fake = FakeStreams(
        {
            "b": shard_of([record(9, 2), record(11, 4)], "a"),
            "a": shard_of([record(number, 5) for number in range(1, 8)], closed=True),
        }
    )
    replay = Replay(datetime.now(UTC), [])
    follower = Follower(fake.client(), "arn:x/stream/s", replay)
    while await follower.round():
        pass
    assert stars(replay) == (0, 0, 0, 1, 0)
    assert replay.done == {"a"}
    assert replay.reached == {"a": Checkpoint("a", "7", done=True), "b": Checkpoint("b", "11")}


async def test_it_notes_where_canaries_come_out() -> None:
    canary = record(1, None)
    canary["dynamodb"]["Keys"] = {"PK": {"S": "CANARY#1"}, "SK": {"S": "CANARY#1"}}
    replay = Replay(START, [])
    await replay.apply(Checkpoint("b"), [canary, record(2, 5)])
    assert replay.canaries == {"CANARY#1": "b"}
    assert stars(replay) == (0, 0, 0, 0, 1)


async def test_it_begins_behind_what_was_there_before() -> None:
    fake = FakeStreams({"a": shard_of([record(1, 5), record(2, 4)])})
    replay = Replay(START, [Checkpoint("a", "1")])
    await Follower(fake.client(), "arn:x/stream/s", replay).round()
    assert fake.read == [("a", "2")]


def test_a_tombstone_is_a_deletion_and_its_expiry_changes_nothing() -> None:
    item = COMMENT.encode(ORDINARY) | idempotency.mark(ORDINARY)
    left = idempotency.tombstone(item)
    images = {"Keys": key_of(item), "SequenceNumber": "1"}
    deleted = {"eventID": "1", "dynamodb": {**images, "OldImage": item, "NewImage": left}}
    expired = {"eventID": "2", "dynamodb": {**images, "OldImage": left}}
    (change,) = changes_of([deleted, expired])
    assert change.deltas == deltas(ORDINARY, None)
    replay = Replay(datetime.now(UTC), [])
    replay.remember(key_of(item), item)
    replay.remember(key_of(item), left)
    assert replay.counts() == {}
