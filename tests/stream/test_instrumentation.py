"""How far behind the follower says that it is."""

from datetime import timedelta

from dal.table.client import Table
from server.observability.following import following
from server.observability.metrics import Metrics
from stream.records import Record, made_at
from tests.server.observability.observed import by, scraped, value
from tests.stream.fakes import START, FakeStreams, shard_of
from tests.stream.histories import made
from tests.stream.test_follower import Clock, follower_of


def late(sequence: int, seconds: int) -> Record:
    """A record of an add that was made some seconds before START."""
    record = made(sequence, "42")
    record["dynamodb"]["ApproximateCreationDateTime"] = START - timedelta(seconds=seconds)
    return record


async def test_the_lag_is_the_age_of_what_was_counted_last_and_then_nothing(begun: Table) -> None:
    shards = {
        "a": shard_of([late(1, 90), late(2, 70)]),
        "b": shard_of([late(3, 20)]),
    }
    metrics = Metrics()
    follower = follower_of(begun, FakeStreams(shards), Clock())
    with following(metrics):
        assert await follower.round()
        found = scraped(metrics)
        assert value(found, "marginalia_follower_lag_seconds") == 70
        assert value(found, "marginalia_follower_records_total") == 3
        assert not await follower.round()
    found = scraped(metrics)
    assert value(found, "marginalia_follower_lag_seconds") == 0
    last = value(found, "marginalia_follower_last_round_timestamp_seconds")
    assert last == START.timestamp()
    written = by(found, "marginalia_dynamodb_capacity_units_total", "unit")["write"]
    assert written > 0


def test_a_record_tells_when_it_was_made_in_either_form() -> None:
    record = made(1, "42")
    assert made_at(record) is None
    record["dynamodb"]["ApproximateCreationDateTime"] = START
    assert made_at(record) == START
    record["dynamodb"]["ApproximateCreationDateTime"] = START.timestamp()  # as Lambda has it
    assert made_at(record) == START
