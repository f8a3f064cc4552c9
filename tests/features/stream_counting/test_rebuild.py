"""Rebuilds in mode stream, while other programs write without counters. A follower continues."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic
from typing import Any

import pytest

import features.stream_counting.rebuild
from dal.counts.counts import RatingCounts, StatisticsKey, deltas
from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.errors import ConflictError, StoreUnavailableError
from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.entities.comment import COMMENT, comment_key
from dal.maintenance.rebuild import rebuild as rebuild_transactional
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from dal.table.items import Item, key_of
from features.stream_counting.applier import Record, changes_of, check_mode, sequence_of
from features.stream_counting.checkpoints import Checkpoint
from features.stream_counting.follower import Follower, caught_up, open_follower
from features.stream_counting.kind import leave
from features.stream_counting.lambda_handler import apply
from features.stream_counting.rebuild import (
    CANARIES_PER_SHARD,
    Canaries,
    Replay,
    begin,
    rebuild,
)
from features.stream_counting.streams import (
    Shard,
    Streams,
    _switch_stream,
    connect_streams,
    latest_stream,
    stream_of,
)
from tests.amazon import settle
from tests.engines import SECOND_IN_SOAK
from tests.features.stream_counting.clients import connection_of
from tests.features.stream_counting.fakes import START, FakeStreams, shard_of
from tests.features.stream_counting.records import all_records, catch_up, made, one_shard
from tests.features.stream_counting.test_lambda_handler import delivered
from tests.histories import check_all, history, write_raw
from tests.putting import put_comments
from tests.strategies import ORDINARY, comment
from tests.verifying import verify
from tests.writers import ROWS, Engine, Killed, Writers, at_once, ignore, spoil


@pytest.fixture
async def each_table(each_table: Table) -> Table:
    """A new table on each engine in transactional mode, with many wrong counters."""
    store = MaintenanceStore(each_table)
    await store.announce(await store.read(), mode=MaintenanceMode.TRANSACTIONAL)
    await put_comments(Stores(each_table).comments, [row for n, row in enumerate(ROWS) if n % 9])
    await spoil(each_table, seed=1)
    return each_table


@contextlib.asynccontextmanager
async def foreign(table: Table, seed: int) -> AsyncIterator[None]:
    """Run another program that writes without a pause until the block ends."""
    stop = asyncio.Event()

    async def write() -> None:
        for step in history(seed, 20_000):
            await write_raw(table, [step])
            await asyncio.sleep(0.002)
            if stop.is_set():
                return

    writing = asyncio.create_task(write())
    try:
        yield
    finally:
        stop.set()
        await writing


async def exact(table: Table) -> None:
    assert await verify(table, ignore) == []
    assert await check_all(table) > 50


async def test_counts_are_exact_after_a_rebuild_with_writes_of_any_program(
    each_table: Table, streams: Streams
) -> None:
    table = Table(Engine(each_table.service), each_table.name)
    async with Writers(each_table, 1, kills=0.1) as writers, foreign(each_table, 1):
        await rebuild(MaintenanceStore(table), streams, writers.settle, ignore)
        reached = await caught_up(table)
        before = writers.writes
        await writers.until(before + 10)
    await catch_up(each_table, streams)
    await exact(each_table)
    said = await MaintenanceStore(each_table).read()
    check_mode(said)
    assert await caught_up(table) >= reached


async def test_a_rebuild_whose_mode_another_command_changed_leaves_the_counters(
    table: Table, streams_of_table: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_comments(Stores(table).comments, ROWS[:20])
    await spoil(table, seed=1)
    store, catch_up_first = MaintenanceStore(table), features.stream_counting.rebuild._catch_up

    async def counters() -> list[Item]:
        items = (await table.scan(0, 1, None)).items
        return [item for item in items if item["PK"]["S"].startswith("PRODUCT#")]

    async def overtaken(*arguments: Any) -> None:
        await catch_up_first(*arguments)
        now = await store.read()
        await store.announce(now, generation=now.generation + 1)

    monkeypatch.setattr(features.stream_counting.rebuild, "_catch_up", overtaken)
    before = await counters()
    with pytest.raises(ConflictError, match="maintenance mode"):
        await rebuild(MaintenanceStore(table), streams_of_table, at_once, ignore)
    assert before
    assert await counters() == before


async def test_a_stream_that_stays_inactive_is_an_error(
    table: Table, streams_of_table: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin, "ACTIVE_SECONDS", 0)
    with pytest.raises(StoreUnavailableError, match=r"stream .*active"):
        await begin(table, streams_of_table)


@pytest.fixture
async def streams_of_table(table: Table) -> AsyncIterator[Streams]:
    async with connect_streams(connection_of(table)) as opened:
        yield opened


@SECOND_IN_SOAK
async def test_a_stream_that_lags_is_waited_for(each_table: Table, streams: Streams) -> None:
    """DynamoDB lists shards late. An empty response does not mean that no record follows."""
    async with foreign(each_table, 3):
        await rebuild(MaintenanceStore(each_table), Lagging(streams), at_once, ignore)
    await catch_up(each_table, streams)
    await exact(each_table)


class Lagging(Streams):
    """A stream that lists its shards late, and returns no records for the first second."""

    def __init__(self, streams: Streams) -> None:
        super().__init__(self._lag)
        self._streams = streams
        self._described = 0
        self._silent_until: float | None = None

    async def _lag(self, operation: str, **arguments: Any) -> dict[str, Any]:
        answer = await self._streams._call(operation, **arguments)
        if operation == "describe_stream":
            self._described += 1
            if self._described <= 2:
                answer["StreamDescription"] |= {"StreamStatus": "ENABLING", "Shards": []}
        if operation == "get_records" and self._silent():
            return {"Records": [], "NextShardIterator": arguments["ShardIterator"]}
        return answer

    def _silent(self) -> bool:
        if self._silent_until is None:
            self._silent_until = monotonic() + 1
        return monotonic() < self._silent_until


@SECOND_IN_SOAK
async def test_the_lambda_function_continues_from_the_start_of_the_stream(
    each_table: Table, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The checkpoints of the previous stream; only the embedded engine returns its records again.
    kept: list[Checkpoint] = []

    async def noted(table: Table, streams: Streams) -> tuple[str, list[Checkpoint]]:
        arn, before = await begin(table, streams)
        kept.extend(before)
        return arn, before

    monkeypatch.setattr("features.stream_counting.rebuild.begin", noted)
    one_shard(each_table)
    async with foreign(each_table, 2):
        await rebuild(MaintenanceStore(each_table), streams, at_once, ignore)
        await asyncio.sleep(0.2)
    settle(each_table)
    _, found = await all_records(each_table, streams)
    found = [one for one in found if not any(before.covers(sequence_of(one)) for before in kept)]
    new = delivered(found, str(await stream_of(each_table)))
    for start in range(0, len(new), 40):
        await apply(each_table, new[start : start + 40])
    assert len(new) > 10
    await exact(each_table)


@SECOND_IN_SOAK
async def test_counts_are_exact_after_a_killed_rebuild_is_run_again(
    each_table: Table, streams: Streams
) -> None:
    chance, engine, kills = random.Random(3), Engine(each_table.service), 0
    table = Table(engine, each_table.name)
    async with foreign(each_table, 3):
        for at in (8, 20, 30):
            engine.left, engine.done_before_death = at, chance.random() < 0.5
            with suppress(StoreRefusedError):
                try:
                    await rebuild(MaintenanceStore(table), streams, at_once, ignore)
                except* Killed:
                    kills += 1
            with suppress(StoreRefusedError):
                await (await open_follower(each_table, streams)).round()
        engine.left = None
        await rebuild(MaintenanceStore(table), streams, at_once, ignore)
    assert kills > 1
    await catch_up(each_table, streams)
    await exact(each_table)


@SECOND_IN_SOAK
async def test_after_the_switch_back_to_transactional_the_stream_is_off(
    each_table: Table, streams: Streams
) -> None:
    await rebuild(MaintenanceStore(each_table), streams, at_once, ignore)
    follower = await open_follower(each_table, streams)
    async with Writers(each_table, 4) as writers:
        await writers.until(5)
        await rebuild_transactional(each_table, writers.settle, ignore)
        await leave(each_table)
        await writers.until(writers.writes + 10)
    with pytest.raises(StoreRefusedError):
        await follower.round()
    assert await stream_of(each_table) is None
    assert (await MaintenanceStore(each_table).read()).exact
    assert await verify(each_table, ignore) == []


@pytest.mark.parametrize("shows", ["NEW_AND_OLD_IMAGES", "KEYS_ONLY"])
async def test_a_stream_that_other_programs_read_stays_on(table: Table, shows: str) -> None:
    await _switch_stream(table, {"StreamEnabled": True, "StreamViewType": shows})
    await leave(table)
    assert latest_stream(await admin.describe(table)) is not None


def record(sequence: int, rating: int | None) -> Record:
    """Return a record that sets the rating of comment 1, or deletes the comment."""
    one = made(sequence, "42")
    images: dict[str, Any] = one["dynamodb"]
    images["Keys"] = comment_key("1")
    del images["NewImage"]
    if rating is not None:
        images["NewImage"] = COMMENT.encode(comment("1", rating=rating))
    return one


def stars(replay: Replay) -> tuple[int, ...]:
    return replay.counts().get(StatisticsKey("42", "en"), RatingCounts()).by_rating


async def test_the_last_record_decides_the_count_whatever_the_scan_has_read() -> None:
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


async def test_the_replay_ignores_items_that_are_not_comments() -> None:
    replay = Replay(START, [])
    item = COMMENT.encode(comment("1"))
    replay.remember({"PK": {"S": "ORDER#1"}, "SK": {"S": "x"}}, item)
    replay.remember(comment_key("1"), item)
    replay.remember(comment_key("1"), {**item, "data": {"S": "none"}})
    assert replay.counts() == {}


async def test_parent_shards_are_read_before_their_children() -> None:
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


async def test_the_replay_records_the_shard_of_each_canary() -> None:
    canary = record(1, None)
    canary["dynamodb"]["Keys"] = {"PK": {"S": "CANARY#1"}, "SK": {"S": "CANARY#1"}}
    replay = Replay(START, [])
    await replay.apply(Checkpoint("b"), [canary, record(2, 5)])
    assert replay.canaries == {"CANARY#1": "b"}
    assert stars(replay) == (0, 0, 0, 0, 1)


async def test_a_new_stream_is_read_after_its_old_records() -> None:
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


A, B, C = Shard("a"), Shard("b", parent="a"), Shard("c", parent="b")


@pytest.mark.parametrize(
    ("missing", "out_of", "done", "shards", "proven"),
    [
        pytest.param(0, "a", set(), [A], True, id="an open shard that has shown some"),
        pytest.param(1, "a", set(), [A], False, id="one has not come"),
        pytest.param(0, "a", set(), [], False, id="no shards are listed"),
        pytest.param(0, "b", set(), [A, B], False, id="a shard has shown none"),
        pytest.param(0, "b", {"a"}, [A, B], True, id="a parent was read to its end"),
        pytest.param(0, "b", {"b"}, [B], True, id="a closed shard that has shown some"),
        pytest.param(0, "b", {"a"}, [A], False, id="a closed shard whose child is not listed"),
        pytest.param(0, "a", {"a", "b"}, [A, B, C], True, id="what follows a shard with some"),
        pytest.param(0, "c", {"c"}, [C, *map(Shard, "defg")], False, id="too few for the shards"),
    ],
)
async def test_canaries_prove_which_shards_were_read(
    table: Table, missing: int, out_of: str, done: set[str], shards: list[Shard], proven: bool
) -> None:
    async with Canaries(table) as canaries:
        await canaries.release(2)
        names = [key["PK"]["S"] for key in await left(table)]
        assert len(names) == 2 * CANARIES_PER_SHARD
        shown = dict.fromkeys(names[missing:], out_of)
        assert canaries.prove(shown, done, shards) is proven


async def test_later_canaries_also_prove_a_shard_and_all_are_deleted(table: Table) -> None:
    async with Canaries(table) as canaries:
        await canaries.release(1)
        shown = {key["PK"]["S"]: "a" for key in await left(table)}
        assert canaries.prove(shown, set(), [A])
        await canaries.release(4)
        assert not canaries.have_come(shown)
        assert len(await left(table)) == 4 * CANARIES_PER_SHARD
    assert await left(table) == []


async def left(table: Table) -> list[dict[str, dict[str, str]]]:
    return [
        item
        for item in (await table.scan(0, 1, None)).items
        if item["PK"]["S"].startswith("CANARY#")
    ]
