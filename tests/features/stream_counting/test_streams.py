"""Streams of the fake: late, expiring and with rate limits, as AWS documents them."""

from itertools import chain
from typing import Any

import pytest

from dal.dynamodb import admin
from dal.dynamodb.errors import (
    ChangesLostError,
    ConflictError,
    IteratorExpiredError,
    ThrottledError,
)
from dal.dynamodb.table import Table
from dal.table.items import primary_key
from features.stream_counting.applier import sequence_of
from features.stream_counting.rebuild import begin
from features.stream_counting.streams import Streams, end_stream, renew_stream, stream_of
from tests.amazon import Amazon
from tests.amazon.conftest import amazon
from tests.amazon.streams import ITERATOR_SECONDS, KEPT_SECONDS
from tests.fakes import FaultyClient, client_error, refuse
from tests.features.stream_counting.clients import client_of

__all__ = ["amazon"]


async def write(table: Table, *names: str) -> None:
    for name in names:
        await table.put_many([primary_key(name)])


async def streamed(table: Table, amazon: Amazon) -> tuple[str, Streams]:
    return await renew_stream(table), Streams(amazon.streams.call)


async def keys(streams: Streams, arn: str, shard: str) -> list[str]:
    """Return the keys of a shard's records, up to the first empty response or the shard's end."""
    found: list[str] = []
    iterator: str | None = await streams.iterator(arn, shard, after=None)
    while iterator:
        answer = await streams.records(iterator)
        if not answer.records:
            break
        found += [one["dynamodb"]["Keys"]["PK"]["S"] for one in answer.records]
        iterator = answer.iterator
    return found


async def test_a_stream_has_no_shards_and_records_no_changes_while_it_is_being_enabled(
    table: Table, amazon: Amazon
) -> None:
    amazon.streams.enabling = 2
    arn, streams = await streamed(table, amazon)
    for _ in range(2):
        found = await streams.describe(arn)
        assert (found.status, list(found.shards)) == ("ENABLING", [])
        await write(table, "too early")
    found = await streams.describe(arn)
    assert found.status == "ENABLED"
    await write(table, "in time")
    assert await keys(streams, arn, found.shards[0].shard_id) == ["in time"]


async def test_a_rebuild_begins_when_the_stream_is_enabled_and_has_shards(
    table: Table, amazon: Amazon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("features.stream_counting.rebuild._LOOK_EVERY", 0.01)
    amazon.streams.enabling, amazon.streams.hidden = 2, 3
    streams = client_of(amazon)
    arn, before = await begin(table, streams)
    assert before == []
    assert arn == await stream_of(table)
    assert (await streams.describe(arn)).shards


async def test_records_arrive_late_but_in_order(table: Table, amazon: Amazon) -> None:
    amazon.streams.late, amazon.streams.seed = 3, 1
    arn, streams = await streamed(table, amazon)
    names = [f"{number}" for number in range(20)]
    await write(table, *names)
    shard = (await streams.describe(arn)).shards[0].shard_id
    iterator: str | None = await streams.iterator(arn, shard, after=None)
    found: list[str] = []
    empty = 0
    while len(found) < len(names):
        assert iterator is not None
        answer = await streams.records(iterator)
        empty += not answer.records
        found += [one["dynamodb"]["Keys"]["PK"]["S"] for one in answer.records]
        iterator = answer.iterator
    assert found == names
    assert empty


async def test_a_child_shard_is_listed_after_its_parent_has_closed(
    table: Table, amazon: Amazon
) -> None:
    amazon.streams.capacity, amazon.streams.hidden = 4, 5
    arn, streams = await streamed(table, amazon)
    while not (found := await streams.describe(arn)).shards:
        pass
    await write(table, *"abcdefgh")
    listed = [one.shard_id for one in found.shards]
    looks = 0
    while len(listed) < 2:
        listed = [one.shard_id for one in (await streams.describe(arn)).shards]
        looks += 1
    assert looks < 9
    amazon.settle()
    every = (await streams.describe(arn)).shards
    assert {one.parent for one in every} >= {listed[0], None}
    read = [await keys(streams, arn, one.shard_id) for one in every]
    assert sorted(chain.from_iterable(read)) == [*"abcdefgh"]


async def test_records_expire_after_a_day_and_iterators_earlier(
    table: Table, amazon: Amazon
) -> None:
    arn, streams = await streamed(table, amazon)
    await write(table, "a", "b")
    shard = (await streams.describe(arn)).shards[0].shard_id
    iterator = await streams.iterator(arn, shard, after=None)
    first = sequence_of((await streams.records(iterator)).records[0])
    amazon.clock.advance(ITERATOR_SECONDS + 1)
    with pytest.raises(IteratorExpiredError):
        await streams.records(iterator)
    assert (
        len((await streams.records(await streams.iterator(arn, shard, after=first))).records) == 1
    )
    amazon.clock.advance(KEPT_SECONDS)
    await write(table, "c")
    with pytest.raises(ChangesLostError):
        await streams.iterator(arn, shard, after=first)
    assert await keys(streams, arn, shard) == ["c"]


@pytest.mark.parametrize("operation", ["describe_stream", "get_records"])
async def test_a_reader_that_sends_too_many_requests_is_refused(
    table: Table, amazon: Amazon, operation: str
) -> None:
    arn, streams = await streamed(table, amazon)
    shard = (await streams.describe(arn)).shards[0].shard_id
    asked: dict[str, Any] = {"StreamArn": arn}
    if operation == "get_records":
        asked = {"ShardIterator": await streams.iterator(arn, shard, after=None)}
    amazon.streams.describes, amazon.streams.reads = 10, 5
    allowed = 10 if operation == "describe_stream" else 5
    for _ in range(allowed):
        await amazon.streams.call(operation, **asked)
    with pytest.raises(ThrottledError):
        await amazon.streams.call(operation, **asked)
    amazon.clock.advance(0.2)
    await amazon.streams.call(operation, **asked)


async def test_the_stream_uses_the_services_clock(table: Table, amazon: Amazon) -> None:
    """The clock of this machine has no effect."""
    arn, streams = await streamed(table, amazon)
    await streams.describe(arn)
    assert abs((streams.now() - amazon.clock.date).total_seconds()) < 60
    amazon.clock.advance(3_600)
    await streams.describe(arn)
    assert abs((streams.now() - amazon.clock.date).total_seconds()) < 60


async def test_the_follower_describes_a_stream_less_often_than_the_limit(
    table: Table, amazon: Amazon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rate limit is shared by all programs of the account."""

    async def sleep(seconds: float) -> None:
        amazon.clock.advance(seconds)

    monkeypatch.setattr("features.stream_counting.streams.sleep", sleep)
    monkeypatch.setattr("features.stream_counting.streams.monotonic", lambda: amazon.clock.now)
    arn, streams = await streamed(table, amazon)
    amazon.streams.describes = 5
    for _ in range(30):
        await streams.describe(arn)
    assert amazon.streams.refused == 0


async def test_a_command_waits_for_a_table_that_is_being_updated(table: Table) -> None:
    await renew_stream(table)
    busy = refuse(client_error("ResourceInUseException"))
    client = FaultyClient(table.service, busy, busy)
    await end_stream(Table(client, table.name))
    assert [operation for operation, _ in client.calls] == ["update_table"] * 3


async def test_a_table_that_stays_in_use_fails_with_its_name(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin, "ACTIVE_SECONDS", 0.2)
    client = FaultyClient(table.service, *[refuse(client_error("ResourceInUseException"))] * 99)
    with pytest.raises(ConflictError, match=f"The table {table.name} "):
        await end_stream(Table(client, table.name))
