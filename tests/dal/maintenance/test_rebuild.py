"""The counters are exact after rebuilds, even after concurrent writes and faults."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from time import time

import pytest

from dal.counts.counter_items import encode, item_key
from dal.counts.counts import RatingCounts, StatisticsKey
from dal.counts.mode import Maintenance, MaintenanceMode, MaintenanceStore
from dal.dynamodb.concurrency import batched
from dal.dynamodb.errors import ConflictError
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.errors import NotFoundError
from dal.maintenance.rebuild import RESUMED_SECONDS, counter_keys, cut_over, rebuild
from dal.model import AspectRating
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from dal.table.items import Item
from tests import recount
from tests.engines import SECOND_IN_SOAK
from tests.putting import put_comments
from tests.verifying import verify
from tests.writers import PRODUCTS, ROWS, Engine, Killed, Writers, at_once, ignore, spoil

SOAK = [pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 9)]


async def exact(table: Table) -> None:
    assert await verify(table, ignore) == []
    for product in PRODUCTS[:2]:
        await recount.check(table, product)
    said = await MaintenanceStore(table).read()
    assert said.exact


@SECOND_IN_SOAK
@pytest.mark.parametrize("seed", [0, *SOAK])
async def test_counts_are_exact_after_a_rebuild_with_concurrent_writers(
    each_table: Table, seed: int
) -> None:
    await put_comments(Stores(each_table).comments, [row for n, row in enumerate(ROWS) if n % 9])
    await spoil(each_table, seed)
    table = Table(Engine(each_table.service), each_table.name)
    async with Writers(each_table, seed) as writers:
        await writers.until(10)
        before = writers.writes
        await rebuild(table, writers.settle, ignore)
        assert writers.writes > before
        await writers.until(writers.writes + 10)
    await exact(each_table)


@SECOND_IN_SOAK
@pytest.mark.parametrize("seed", [0, *SOAK])
async def test_counts_are_exact_after_a_killed_rebuild_is_run_again(
    each_table: Table, seed: int
) -> None:
    await put_comments(Stores(each_table).comments, [row for n, row in enumerate(ROWS) if n % 9])
    await spoil(each_table, seed)
    chance, engine, kills = random.Random(seed), Engine(each_table.service), 0
    table = Table(engine, each_table.name)
    async with Writers(each_table, seed) as writers:
        for _ in range(6):
            engine.left = chance.choice([1, 5, 12, 30, 40])
            engine.done_before_death = chance.random() < 0.5
            try:
                await rebuild(table, writers.settle, ignore)
            except* Killed:
                kills += 1
        engine.left = None
        await rebuild(table, writers.settle, ignore)
    assert kills > 0
    await exact(each_table)


@pytest.mark.parametrize(
    "at",
    [*range(0, 60, 14), *(pytest.param(at, marks=pytest.mark.soak) for at in range(7, 60, 14))],
)
async def test_a_command_killed_at_any_request_continues(table: Table, at: int) -> None:
    """No other process writes. Each kill happens after a request whose response is lost."""
    await put_comments(Stores(table).comments, [row for n, row in enumerate(ROWS) if n % 9])
    await spoil(table, at)
    engine = Engine(table.service)
    engine.left, engine.done_before_death = at, True
    with suppress(BaseExceptionGroup, Killed):
        await rebuild(Table(engine, table.name), at_once, ignore)
    writer = Stores(table).comments
    for row in ROWS[at : at + 5]:  # writes between the two runs of the command
        with suppress(NotFoundError):
            await writer.update(row.comment_id, {"rating": 1, "language": "de"}, lambda _: None)
    engine.left = None
    await rebuild(Table(engine, table.name), at_once, ignore)
    await exact(table)
    assert [key async for key in counter_keys(table, 1)] == []


@SECOND_IN_SOAK
async def test_counts_are_exact_after_two_concurrent_rebuilds(each_table: Table) -> None:
    await put_comments(Stores(each_table).comments, ROWS)
    await spoil(each_table, 5)
    counting = MaintenanceStore(each_table)  # as if a third rebuild had been killed
    await counting.announce(await counting.read(), generation=1, rebuilding=True, complete=False)
    table = Table(Engine(each_table.service), each_table.name)
    async with Writers(each_table, 5, kills=0.1) as writers:
        ends = await asyncio.gather(
            *(rebuild(table, writers.settle, ignore) for _ in range(2)), return_exceptions=True
        )
        await writers.until(writers.writes + 10)
    assert None in ends
    for end in ends:
        if end is not None:  # the slower rebuild fails, because the other one has ended
            assert isinstance(end, ConflictError | StoreRefusedError), ends
            assert str(end).startswith("Another command"), ends
    await exact(each_table)


async def test_a_rebuild_that_another_command_ended_copies_no_counter(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dal.maintenance.rebuild.MAINTENANCE_DEADLINE", 0.5)
    counting, key = MaintenanceStore(table), StatisticsKey("42", "en")
    said = await counting.announce(await counting.read(), generation=1, rebuilding=True)
    counter = encode(key._replace(generation=1), RatingCounts((0, 0, 0, 0, 7)))
    await table.put_many([counter])
    await counting.announce(said, mode=MaintenanceMode.STREAM)
    with pytest.raises(StoreRefusedError, match="`marginalia stats verify`"):
        await cut_over(table, said)
    assert await table.get(item_key(key)) is None
    assert await table.get({"PK": counter["PK"], "SK": counter["SK"]}) == counter


async def test_an_aspect_that_is_first_rated_during_the_cutover_is_counted(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write adds a count that the counter did not have when the cutover read it.

    All counts by rating stay the same.
    """
    await put_comments(Stores(table).comments, ROWS)
    one, reads = ROWS[0], list[bool]()
    get_many = Table.get_many

    async def writing(self: Table, keys: Sequence[Item]) -> list[Item]:
        found = await get_many(self, keys)
        mine = [item_key(StatisticsKey(one.product_id, one.language, 1)) in keys, not reads]
        if all(mine):
            reads.append(True)
            changes = {"aspects": (AspectRating("new", 5),)}
            await Stores(table).comments.update(one.comment_id, changes, lambda _: None)
        return found

    monkeypatch.setattr(Table, "get_many", writing)
    await rebuild(table, at_once, ignore)
    assert reads
    await exact(table)


async def test_an_expired_rebuild_begins_again(table: Table) -> None:
    """The counters of an expired rebuild may have expired too, so the new rebuild ignores them."""
    await put_comments(Stores(table).comments, ROWS)
    counting = MaintenanceStore(table)
    long_ago = Maintenance(generation=3, rebuilding=True, since=int(time()) - RESUMED_SECONDS - 1)
    item = {
        "PK": {"S": "COUNTING"},
        "SK": {"S": "COUNTING"},
        "mode": {"S": "transactional"},
        "generation": {"N": "3"},
        "since": {"N": str(long_ago.since)},
        "rebuilding": {"BOOL": True},
    }
    await table.put_many([item])
    assert await counting.read() == long_ago
    await rebuild(table, at_once, ignore)
    assert (await counting.read()).generation == 4
    await exact(table)


async def test_an_interrupted_scan_continues_where_it_stopped(table: Table) -> None:
    await put_comments(Stores(table).comments, ROWS)
    engine = Engine(table.service)
    again = Table(engine, table.name)
    engine.left = 22
    with suppress(BaseExceptionGroup, Killed):
        await rebuild(again, at_once, ignore)
    engine.left, first = None, scans(engine)
    await rebuild(again, at_once, ignore)
    second = scans(engine) - first
    await rebuild(again, at_once, ignore)
    whole = scans(engine) - first - second
    assert 0 < first < whole
    assert second < whole


def scans(engine: Engine) -> int:
    return sum(operation == "scan" for operation, _ in engine.calls)


async def test_after_a_rebuild_writers_count_a_table_that_a_stream_has_counted(
    table: Table,
) -> None:
    await put_comments(Stores(table).comments, ROWS)
    counting = MaintenanceStore(table)
    await counting.announce(await counting.read(), mode=MaintenanceMode.STREAM, complete=False)
    await table.put_many([COMMENT.encode(ROWS[0]._replace(comment_id="foreign"))])
    await rebuild(table, at_once, ignore)
    store = Stores(table).comments
    await store.add(ROWS[0]._replace(comment_id="ours"))
    await exact(table)


async def test_statistics_without_comments_become_zero_and_leave_the_leaderboards(
    each_table: Table,
) -> None:
    gone = [StatisticsKey(f"p{n}", language) for n in range(70) for language in (None, "en")]
    await each_table.put_many([encode(key, RatingCounts((0, 0, 0, 0, 3))) for key in gone])
    await rebuild(each_table, at_once, ignore)
    for keys in batched(gone, 30):
        for item in await each_table.get_many([item_key(key) for key in keys]):
            assert item.get("count_5", {"N": "0"}) == {"N": "0"}
            assert not {"GSIPK", "GSISK"} & item.keys()
    await exact(each_table)


async def test_items_that_are_not_comments_are_unchanged(table: Table) -> None:
    await put_comments(Stores(table).comments, ROWS[:3])
    garbage = [
        {"PK": {"S": "COMMENT#x"}, "SK": {"S": "COMMENT#x"}, "data": {"S": "none"}},
        {"PK": {"S": "PRODUCT#x"}, "SK": {"S": "S#%FF"}},
        {"PK": {"S": "PRODUCT#x"}, "SK": {"S": "S"}, "count_1": {"S": "one"}},
    ]
    await table.put_many(garbage)
    await rebuild(table, at_once, ignore)
    for one in garbage:
        assert await table.get({"PK": one["PK"], "SK": one["SK"]}) == one
    await exact(table)
