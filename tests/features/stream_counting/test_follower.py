"""The follower on real streams, and on a fake stream with faults that the engines do not have."""

import asyncio
import contextlib
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from dal.counts.counter_items import item_key
from dal.counts.counts import StatisticsKey
from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb.errors import ChangesLostError, StoreUnavailableError
from dal.dynamodb.table import Table
from dal.repositories.comments import CommentRepository
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from features.stream_counting.applier import Applier
from features.stream_counting.checkpoints import Checkpoint, Checkpoints, label_of
from features.stream_counting.follower import (
    LISTING,
    RETENTION,
    SKIPPING,
    Follower,
    caught_up,
    follow,
    open_follower,
)
from features.stream_counting.streams import Streams, _switch_stream, renew_stream, stream_of
from tests import recount
from tests.amazon import settle
from tests.engines import SECOND_IN_SOAK
from tests.fakes import Answer, FaultyClient, Operation, client_error, refuse
from tests.features.stream_counting.fakes import START, FakeShard, FakeStreams, shard_of
from tests.features.stream_counting.records import begin_counting, catch_up, made
from tests.histories import PRODUCTS, Step, check_all, history, write_raw
from tests.putting import put_comments
from tests.strategies import comment


@dataclass
class Clock:
    time: datetime = START

    def __call__(self) -> datetime:
        return self.time

    def pass_by(self, time: timedelta) -> None:
        self.time += time


def timed(streams: Streams, clock: Callable[[], datetime]) -> Streams:
    """Return a client whose time is the time of ``clock``."""
    streams = copy(streams)
    streams.now = clock  # type: ignore[method-assign]
    return streams


def follower_of(table: Table, fake: FakeStreams, clock: Callable[[], datetime]) -> Follower:
    return Follower(timed(fake.client(), clock), "arn:x/stream/s", Applier(table, "s"))


async def exhaust(follower: Follower, clock: Clock) -> None:
    """Run rounds until the follower finds no more records, even after it lists the shards again."""
    for _ in range(3):
        while await follower.round():
            pass
        clock.pass_by(LISTING)


async def count_of(table: Table, product_id: str) -> int:
    item = await table.get(item_key(StatisticsKey(product_id, "en"))) or {}
    return int(item.get("count_total", {"N": "0"})["N"])


async def stored(table: Table, shard: str) -> Checkpoint:
    return (await Checkpoints(table, "s").read([shard]))[shard]


def anybody(_: object) -> None:
    """Refuse nobody."""


async def test_writes_of_another_program_are_counted(streamed: Table, streams: Streams) -> None:
    await write_raw(streamed, history(1, 60))
    await catch_up(streamed, streams)
    assert await check_all(streamed) > 10


@SECOND_IN_SOAK
async def test_both_modes_write_equal_items(streamed: Table, streams: Streams) -> None:
    counting = MaintenanceStore(streamed)
    transactional = await counting.announce(
        await counting.read(), mode=MaintenanceMode.TRANSACTIONAL
    )
    store = Stores(streamed).comments
    for step in history(2, 60):
        await write_counted(store, step)
    counted = {one: await recount.stored(streamed, one) for one in PRODUCTS}
    for product in PRODUCTS:
        await forget_counters(streamed, product)
    await counting.announce(transactional, mode=MaintenanceMode.STREAM)
    await catch_up(streamed, streams)
    assert {one: await recount.stored(streamed, one) for one in PRODUCTS} == counted


@SECOND_IN_SOAK
async def test_a_follower_counts_nothing_in_transactional_mode(
    streamed: Table, streams: Streams
) -> None:
    """A running follower stops within seconds of the announcement."""
    follower = await open_follower(streamed, streams)
    await write_raw(streamed, history(2, 20))
    assert await follower.round()
    before = {one: await recount.stored(streamed, one) for one in PRODUCTS}
    counting = MaintenanceStore(streamed)
    await counting.announce(await counting.read(), mode=MaintenanceMode.TRANSACTIONAL)
    assert isinstance(follower._sink, Applier)
    follower._sink._maintenance.forget()
    await write_raw(streamed, history(3, 20))
    with pytest.raises(StoreRefusedError, match="stats rebuild --mode stream"):
        await follower.round()
    assert {one: await recount.stored(streamed, one) for one in PRODUCTS} == before


@SECOND_IN_SOAK
async def test_two_concurrent_followers_count_once(streamed: Table, streams: Streams) -> None:
    following = [asyncio.create_task(follow(streamed, streams)) for _ in range(2)]
    await write_raw(streamed, history(3, 80))
    for one in following:
        one.cancel()
    for one in following:
        with contextlib.suppress(asyncio.CancelledError):
            await one
    await catch_up(streamed, streams)
    assert await check_all(streamed) > 10


@SECOND_IN_SOAK
async def test_a_follower_cancelled_at_any_moment_and_started_again_is_exact(
    streamed: Table, streams: Streams
) -> None:
    writing = asyncio.create_task(write_raw(streamed, history(4, 160)))
    cancelled = 0
    while not writing.done():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01 + 0.01 * (cancelled % 7)):
                await follow(streamed, streams)
        cancelled += 1
    await writing
    await catch_up(streamed, streams)
    assert cancelled > 3
    await check_all(streamed)


async def test_without_a_stream_the_error_says_what_to_do(table: Table, streams: Streams) -> None:
    with pytest.raises(StoreRefusedError, match="marginalia stats rebuild"):
        await open_follower(table, streams)


async def test_the_counts_of_a_new_stream_start_at_zero(streamed: Table, streams: Streams) -> None:
    """So a recount of the table can begin without reading the old stream."""
    before = await stream_of(streamed)
    olds = [comment(f"old-{number}", product_id="42") for number in range(12)]
    await write_raw(streamed, [Step(None, old) for old in olds])
    await begin_counting(streamed, streams)
    assert await stream_of(streamed) != before
    await catch_up(streamed, streams)
    assert await count_of(streamed, "42") == 0
    await write_raw(streamed, [Step(None, comment("new", product_id="42"))])
    await catch_up(streamed, streams)
    assert await count_of(streamed, "42") == 1


async def test_a_stream_without_a_rebuild_is_refused(each_table: Table, streams: Streams) -> None:
    await renew_stream(each_table)
    settle(each_table)
    follower = await open_follower(each_table, streams)
    with pytest.raises(StoreRefusedError, match="marginalia stats rebuild"):
        await follower.round()


async def test_a_stream_that_contains_only_keys_is_refused(each_table: Table) -> None:
    await _switch_stream(each_table, {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    with pytest.raises(StoreRefusedError, match="lacks images"):
        await stream_of(each_table)


@SECOND_IN_SOAK
async def test_the_watermark_is_the_time_when_no_record_was_left(
    streamed: Table, streams: Streams
) -> None:
    checkpoints = Checkpoints(streamed, label_of(str(await stream_of(streamed))))
    begun = await checkpoints.watermark()
    assert begun is not None
    later = begun + timedelta(minutes=1)
    follower = await open_follower(streamed, timed(streams, Clock(later)))
    await write_raw(streamed, history(5, 5))
    assert await follower.round()
    assert await checkpoints.watermark() == begun
    while await follower.round():
        pass
    assert await checkpoints.watermark() == later
    await checkpoints.raise_watermark(later - timedelta(seconds=1))
    assert await checkpoints.watermark() == later


@SECOND_IN_SOAK
async def test_an_idle_follower_writes_no_records(streamed: Table, streams: Streams) -> None:
    clock = Clock(streams.now())
    follower = await open_follower(streamed, timed(streams, clock))
    await write_raw(streamed, history(6, 5))
    while await follower.round():
        pass
    busy = [await follower.round() for _ in range(5)]
    assert busy[1:] == [False] * 4  # the first round reads the record of the stored watermark


async def test_an_idle_follower_notices_a_change_to_transactional_mode(
    begun: Table,
) -> None:
    """No record arrives, after which the follower would read the mode."""
    fake, clock = FakeStreams({"a": shard_of([made(1, "42")])}), Clock()
    follower = follower_of(begun, fake, clock)
    await exhaust(follower, clock)
    counting = MaintenanceStore(begun)
    await counting.announce(await counting.read(), mode=MaintenanceMode.TRANSACTIONAL)
    assert isinstance(follower._sink, Applier)
    follower._sink._maintenance.forget()
    with pytest.raises(StoreRefusedError, match="stats rebuild --mode stream"):
        await follower.round()


async def test_parent_shards_are_read_before_their_children(begun: Table) -> None:
    """A comment's add may be in a shard, and its edit in a child. The add must be counted first."""
    family = {
        "a": shard_of([made(n, "42") for n in range(1, 8)], closed=True),
        "b": shard_of([made(n, "42") for n in range(8, 11)], "a", closed=True),
        "c": shard_of([made(n, "42") for n in range(20, 30)], "a", closed=True),
        "d": shard_of([made(n, "42") for n in range(30, 34)], "c"),
        "e": shard_of([], "b"),
        "f": shard_of([made(40, "42")], "gone"),
    }
    fake, clock = FakeStreams(family), Clock()
    await exhaust(follower_of(begun, fake, clock), clock)
    assert await count_of(begun, "42") == 25
    read = [name for name, _ in fake.read]
    for name, shard in family.items():
        if shard.parent in family and name in read:
            last = max(place for place, one in enumerate(read) if one == shard.parent)
            assert read.index(name) > last
    assert (await stored(begun, "a")).done
    assert not (await stored(begun, "d")).done


async def test_a_record_that_is_twice_in_a_response_counts_once(begun: Table) -> None:
    one, two = made(1, "42"), made(2, "42")
    fake, clock = FakeStreams({"a": shard_of([one, two, one])}), Clock()
    await exhaust(follower_of(begun, fake, clock), clock)
    assert fake.read == [("a", "1"), ("a", "2"), ("a", "1")]
    assert await count_of(begun, "42") == 2
    assert (await stored(begun, "a")).sequence == "2"


async def test_a_child_shard_waits_for_its_parent_also_after_a_restart(begun: Table) -> None:
    family = {
        "a": shard_of([made(n, "42") for n in range(1, 9)], closed=True),
        "b": shard_of([made(n, "42") for n in range(9, 12)], "a"),
    }
    clock, rounds = Clock(), 0
    while not (await stored(begun, "a")).done:
        fake = FakeStreams(family)  # a new follower for each round, as after a restart
        await follower_of(begun, fake, clock).round()
        assert fake.opened == ["a"]
        rounds += 1
    assert rounds > 2
    fake = FakeStreams(family)
    await exhaust(follower_of(begun, fake, clock), clock)
    assert fake.opened == ["b"], "a shard that is done is not read again"
    assert await count_of(begun, "42") == 11


async def test_new_shards_are_read(begun: Table) -> None:
    fake, clock = FakeStreams({"a": shard_of([made(1, "42")])}), Clock()
    follower = follower_of(begun, fake, clock)
    await exhaust(follower, clock)
    fake.shards["a"].closed = True
    fake.shards["a"].records.append(made(2, "42"))
    fake.shards["b"] = shard_of([made(3, "42")], "a")
    await exhaust(follower, clock)
    assert await count_of(begun, "42") == 3


async def test_a_child_shard_is_read_in_the_round_of_its_parent(begun: Table) -> None:
    family = {
        "a": shard_of([made(1, "42")], closed=True),
        "b": shard_of([made(2, "42")], "a", closed=True),
        "c": shard_of([made(3, "42")], "b"),
    }
    follower = follower_of(begun, FakeStreams(family), Clock())
    while await follower.round():
        pass
    assert await count_of(begun, "42") == 3


async def test_there_is_no_watermark_while_a_child_shard_may_be_missing(begun: Table) -> None:
    fake, clock = FakeStreams({"a": shard_of([made(1, "42")], closed=True)}), Clock()
    follower = follower_of(begun, fake, clock)
    await exhaust(follower, clock)
    assert await Checkpoints(begun, "s").watermark() == START
    fake.shards["b"] = FakeShard("a")
    await exhaust(follower, clock)
    assert await Checkpoints(begun, "s").watermark() == clock() - LISTING


async def test_an_expired_iterator_is_replaced(begun: Table) -> None:
    fake, clock = FakeStreams({"a": shard_of([made(n, "42") for n in range(1, 9)])}), Clock()
    fake.expired = {"a@0", "a@3", "a@8"}
    await exhaust(follower_of(begun, fake, clock), clock)
    assert not fake.expired
    assert await count_of(begun, "42") == 8


@pytest.mark.parametrize("running", [True, False])
async def test_lost_changes_stop_the_follower(begun: Table, *, running: bool) -> None:
    fake, clock = FakeStreams({"a": shard_of([made(n, "42") for n in range(1, 4)])}), Clock()
    follower = follower_of(begun, fake, clock)
    await exhaust(follower, clock)
    fake.shards["a"].records += [made(n, "42") for n in range(4, 9)]
    fake.shards["a"].trimmed = 5
    with pytest.raises(ChangesLostError, match="marginalia stats rebuild"):
        await (follower if running else follower_of(begun, fake, clock)).round()
    assert await count_of(begun, "42") == 3


@pytest.mark.parametrize("started", [True, False])
async def test_a_shard_whose_first_records_may_have_expired_stops_the_follower(
    begun: Table, *, started: bool
) -> None:
    """If the follower never read the shard, the service reports no lost records."""
    fake, clock = FakeStreams({"a": shard_of([made(1, "42")])}), Clock()
    if started:
        await exhaust(follower_of(begun, fake, clock), clock)
    fake.shards = {"b": shard_of([made(2, "42")], "a")}
    clock.pass_by(RETENTION + LISTING)
    with pytest.raises(ChangesLostError, match="marginalia stats rebuild"):
        await follower_of(begun, fake, clock).round()


async def test_a_shard_that_the_follower_missed_within_a_day_is_read(begun: Table) -> None:
    fake, clock = FakeStreams({"a": shard_of([made(1, "42")])}), Clock()
    await exhaust(follower_of(begun, fake, clock), clock)
    fake.shards["a"].closed = True
    fake.shards["b"] = shard_of([made(2, "42")], "a")
    clock.pass_by(RETENTION - LISTING)
    await exhaust(follower_of(begun, fake, clock), clock)
    assert await count_of(begun, "42") == 2


async def test_records_that_change_no_count_still_move_the_checkpoint(begun: Table) -> None:
    """Otherwise the follower reports lost changes if it restarts after a day of such records."""
    fake, clock = FakeStreams({"a": shard_of([made(1, "42")])}), Clock()
    follower = follower_of(begun, fake, clock)
    await exhaust(follower, clock)
    idle = made(2, "42")
    idle["dynamodb"]["OldImage"] = idle["dynamodb"]["NewImage"]
    fake.shards["a"].records.append(idle)
    await exhaust(follower, clock)
    assert (await stored(begun, "a")).sequence == "1"
    clock.pass_by(SKIPPING)
    await exhaust(follower, clock)
    assert (await stored(begun, "a")).sequence == "2"


async def test_a_stream_that_was_switched_off_is_read_to_its_end(begun: Table) -> None:
    fake, clock = FakeStreams({"a": shard_of([made(1, "42")], closed=True)}, enabled=False), Clock()
    with pytest.raises(StoreRefusedError, match="switched off"):
        await exhaust(follower_of(begun, fake, clock), clock)
    assert await count_of(begun, "42") == 1


@SECOND_IN_SOAK
async def test_a_follower_waits_for_an_unreachable_engine(
    streamed: Table, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_raw(streamed, history(7, 20))
    real, away = streams._call, 3

    async def call(operation: str, **arguments: object) -> dict[str, object]:
        nonlocal away
        if operation == "get_records" and away:
            away -= 1
            raise StoreUnavailableError("Away.")
        return await real(operation, **arguments)

    monkeypatch.setattr(streams, "_call", call)
    written = streams.now()
    following = asyncio.create_task(follow(streamed, streams))
    for _ in range(3_000):
        if await caught_up(streamed) >= written:
            break
        await asyncio.sleep(0.02)
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
    assert away == 0
    assert await check_all(streamed) > 0


@pytest.mark.parametrize("lost", [True, False])
async def test_a_failed_round_is_repeated(begun: Table, *, lost: bool) -> None:
    """The same follower continues, whether DynamoDB executed the transaction or not."""
    client = FaultyClient(begun.service)
    fake, clock = FakeStreams({"a": shard_of([made(n, "42") for n in range(1, 9)])}), Clock()
    follower = follower_of(Table(client, begun.name), fake, clock)
    assert await follower.round()
    client._faults = [do_and_refuse if lost else refuse(client_error("Refused"))]
    with pytest.raises(StoreRefusedError):
        await follower.round()
    await exhaust(follower, clock)
    assert await count_of(begun, "42") == 8


async def do_and_refuse(real: Operation, arguments: Answer) -> Answer:
    await real(**arguments)
    raise client_error("Refused")


async def write_counted(store: CommentRepository, step: Step) -> None:
    """Execute a step through the repository, which changes the counters."""
    if step.new is None and step.old is not None:
        await store.delete(step.old.comment_id, anybody)
    elif step.new is not None and step.old is None:
        await store.add(step.new)
    elif step.new is not None:
        await put_comments(store, [step.new])


async def forget_counters(table: Table, product_id: str) -> None:
    for language in recount_languages(await recount.stored(table, product_id)):
        await table.write([{"Delete": {"Key": item_key(StatisticsKey(product_id, language))}}])


def recount_languages(counts: recount.Counts) -> list[str]:
    return [sort_key[2:] for sort_key in counts if sort_key != "S"]
