"""The follower's metric: the time up to which it has counted."""

from datetime import timedelta

from dal.dynamodb.table import Table
from features.stream_counting.applier import Record, made_at
from features.stream_counting.follower_metrics import following
from server.observability.metrics import Metrics
from tests.features.stream_counting.fakes import START, FakeStreams, shard_of
from tests.features.stream_counting.records import made
from tests.features.stream_counting.test_follower import Clock, follower_of
from tests.server.observability.observed import by, scraped, value


def late(sequence: int, seconds: int) -> Record:
    """Return the record of a comment added some seconds before START."""
    record = made(sequence, "42")
    record["dynamodb"]["ApproximateCreationDateTime"] = START - timedelta(seconds=seconds)
    return record


COUNTED_UNTIL = "marginalia_follower_counted_until_timestamp_seconds"


async def test_a_follower_reports_the_time_up_to_which_it_has_counted(begun: Table) -> None:
    shards = {
        "a": shard_of([late(1, 90), late(2, 70)]),
        "b": shard_of([late(3, 20)]),
    }
    metrics = Metrics({})
    follower = follower_of(begun, FakeStreams(shards), Clock())
    with following(metrics):
        assert await follower.round()
        assert value(scraped(metrics), COUNTED_UNTIL) == START.timestamp() - 70
        assert not await follower.round()
    found = scraped(metrics)
    assert value(found, COUNTED_UNTIL) == START.timestamp()
    written = by(found, "marginalia_dynamodb_capacity_units_total", "unit")["write"]
    assert written > 0


async def test_the_time_stays_while_a_shard_may_have_unread_records(begun: Table) -> None:
    fake, metrics = FakeStreams({"a": shard_of([late(1, 90)])}), Metrics({})
    follower = follower_of(begun, fake, Clock())
    with following(metrics):
        await follower.round()
        fake.expired.add("a@1")
        assert await follower.round(), "the iterator has expired"
        assert value(scraped(metrics), COUNTED_UNTIL) == START.timestamp() - 90
        fake.shards["a"].closed = True
        assert await follower.round(), "the shard is fully read"
        assert not await follower.round(), "its child is not listed yet"
        assert value(scraped(metrics), COUNTED_UNTIL) == START.timestamp() - 90


def test_the_time_of_a_record_is_read_in_both_formats() -> None:
    record = made(1, "42")
    assert made_at(record) is None
    record["dynamodb"]["ApproximateCreationDateTime"] = START
    assert made_at(record) == START
    record["dynamodb"]["ApproximateCreationDateTime"] = START.timestamp()  # in Lambda's format
    assert made_at(record) == START
