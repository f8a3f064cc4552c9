"""Rebuilds beside running writers: whatever the counters were and whatever happens, they end exact.

``settle`` stands for the wait in production: it ends once what began before has ended, and every
writer has been told to ask anew.
"""

import asyncio
import random
from contextlib import suppress
from dataclasses import replace
from time import time
from typing import Any, Self

import pytest

from dal import errors
from dal.comments import CommentStore
from dal.concurrency import batched
from dal.counters import encode, item_key
from dal.counting import Counting, CountingStore, Mode
from dal.dynamodb import Table
from dal.items import encode_comment
from dal.model import RATINGS, Comment
from dal.rebuild import RESUMED_SECONDS, rebuild
from dal.recount import verify
from dal.statistics import RatingCounts, StatisticsKey
from dal.swaps import recount_keys
from tests import oracle, recount
from tests.fakes import FaultyClient

PRODUCTS = ("41", "42", "4/3")
LANGUAGES = ("en", "de", "pt-BR")
ROWS = [
    replace(row, product_id=PRODUCTS[n % 3], language=LANGUAGES[n % 2])
    for n, row in enumerate(oracle.make_comments("r", 150, seed=3))
]
SOAK = [pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 9)]
STALE = StatisticsKey("gone", "en")


def ignore(_: int) -> None:
    """Show no progress."""


class Killed(BaseException):
    """What ends a rebuild in the middle of a request."""


class Engine(FaultyClient):
    """A client whose scans come in small pages, and which dies at one request if told to."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.left: int | None = None
        self.done_before_death = False

    async def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        if operation == "scan":
            arguments["Limit"] = 20
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                if self.done_before_death:
                    await super()._call(operation, **arguments)
                raise Killed
        return await super()._call(operation, **arguments)


class Writers:
    """Two processes whose clients add, edit, delete and load, all the time."""

    def __init__(self, table: Table, seed: int) -> None:
        self.stores = [CommentStore(table) for _ in range(2)]
        self._chance = random.Random(seed)
        self._running: set[asyncio.Task[None]] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._moved = asyncio.Condition()
        self.writes = 0

    async def __aenter__(self) -> Self:
        self._loops = [asyncio.create_task(self._loop(number)) for number in range(4)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for one in self._loops:
            one.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await asyncio.gather(*self._running)

    async def until(self, writes: int) -> None:
        async with self._moved:
            await self._moved.wait_for(lambda: self.writes >= writes)

    async def settle(self) -> None:
        for store in self.stores:
            store.counting.forget()
        await asyncio.gather(*self._running)

    async def _loop(self, number: int) -> None:
        while True:
            task = asyncio.create_task(self._write(number))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            await asyncio.shield(task)
            async with self._moved:
                self.writes += 1
                self._moved.notify_all()
            await asyncio.sleep(0.005)

    async def _write(self, number: int) -> None:
        chance, store = self._chance, self.stores[number % 2]
        row = self._changed(chance.choice(ROWS))
        with suppress(errors.NotFoundError, errors.AlreadyExistsError, errors.ConflictError):
            match chance.choice(["add", "update", "text", "delete", "put_many"]):
                case "add":
                    new = replace(row, comment_id=f"new-{chance.randrange(60)}")
                    await store.add(new, chance.choice([None, new.comment_id]))
                case "update":
                    changes = {"rating": row.rating, "language": row.language}
                    await store.update(row.comment_id, changes, lambda _: None)
                case "text":
                    await store.update(row.comment_id, {"text": row.text}, lambda _: None)
                case "delete":
                    await store.delete(row.comment_id, lambda _: None)
                case _:
                    rows = [self._changed(one) for one in chance.sample(ROWS, 5)]
                    await store.put_many([*rows, *chance.sample(ROWS, 3)])

    def _changed(self, row: Comment) -> Comment:
        chance = self._chance
        return replace(
            row,
            product_id=chance.choice(PRODUCTS),
            rating=chance.choice(RATINGS),
            language=chance.choice(LANGUAGES),
            text=f"text {chance.random()}",
        )


async def at_once() -> None:
    """Wait for nobody: there are no writers."""


async def spoil(table: Table, seed: int) -> None:
    """Make counters wrong, too high, too low, missing and stale; some comments uncounted."""
    chance = random.Random(seed)
    await table.put_many([encode_comment(row) for row in ROWS[::9]])
    for product in PRODUCTS:
        for language in (None, *LANGUAGES):
            key = StatisticsKey(product, language)
            match chance.choice(["missing", "wrong", "kept"]):
                case "missing":
                    await table.write([{"Delete": {"Key": item_key(key)}}])
                case "wrong":
                    counts = RatingCounts(tuple(chance.randrange(9) for _ in RATINGS))
                    await table.put_many([encode(key, counts)])
    await table.put_many([encode(STALE, RatingCounts((1, 2, 3, 4, 5)))])


async def exact(table: Table) -> None:
    assert await verify(table, ignore) == []
    for product in PRODUCTS[:2]:
        await recount.check(table, product)
    said = await CountingStore(table).read()
    assert said.proves_absence


@pytest.mark.parametrize("seed", [0, *SOAK])
async def test_beside_running_writers_it_ends_exact(each_table: Table, seed: int) -> None:
    await CommentStore(each_table).put_many([row for n, row in enumerate(ROWS) if n % 9])
    await spoil(each_table, seed)
    table = Table(Engine(each_table._client), each_table.name)
    async with Writers(each_table, seed) as writers:
        await writers.until(10)
        await rebuild(table, writers.settle, ignore)
        assert writers.writes > 25
        await writers.until(writers.writes + 10)
    await exact(each_table)


@pytest.mark.parametrize("seed", [0, *SOAK])
async def test_killed_at_any_moment_and_run_again_it_ends_exact(
    each_table: Table, seed: int
) -> None:
    await CommentStore(each_table).put_many([row for n, row in enumerate(ROWS) if n % 9])
    await spoil(each_table, seed)
    chance, engine, kills = random.Random(seed), Engine(each_table._client), 0
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
    assert kills > 2
    await exact(each_table)


@pytest.mark.parametrize("at", range(0, 60, 7))
async def test_killed_at_this_request_it_goes_on(table: Table, at: int) -> None:
    """Without writers; each kill leaves the request done, and its answer lost."""
    await CommentStore(table).put_many([row for n, row in enumerate(ROWS) if n % 9])
    await spoil(table, at)
    engine = Engine(table._client)
    engine.left, engine.done_before_death = at, True
    with suppress(BaseExceptionGroup, Killed):
        await rebuild(Table(engine, table.name), at_once, ignore)
    writer = CommentStore(table)
    for row in ROWS[at : at + 5]:  # between the runs, by what was announced
        with suppress(errors.NotFoundError):
            await writer.update(row.comment_id, {"rating": 1, "language": "de"}, lambda _: None)
    engine.left = None
    await rebuild(Table(engine, table.name), at_once, ignore)
    await exact(table)
    assert [key async for key in recount_keys(table, 1)] == []


async def test_two_at_once_end_exact(each_table: Table) -> None:
    await CommentStore(each_table).put_many(ROWS)
    await spoil(each_table, 5)
    counting = CountingStore(each_table)  # as by a third, which was killed
    await counting.announce(await counting.read(), generation=1, rebuilding=True, complete=False)
    table = Table(Engine(each_table._client), each_table.name)
    async with Writers(each_table, 5) as writers:
        ends = await asyncio.gather(
            *(rebuild(table, writers.settle, ignore) for _ in range(2)), return_exceptions=True
        )
        await writers.until(40)
    assert None in ends
    assert all(end is None or isinstance(end, errors.DalError) for end in ends), ends
    await exact(each_table)


async def test_a_rebuild_of_long_ago_is_begun_anew(table: Table) -> None:
    """Its counters may have expired."""
    await CommentStore(table).put_many(ROWS)
    counting = CountingStore(table)
    long_ago = Counting(generation=3, rebuilding=True, since=int(time()) - RESUMED_SECONDS - 1)
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


async def test_what_is_interrupted_goes_on_where_it_was(table: Table) -> None:
    await CommentStore(table).put_many(ROWS)
    engine = Engine(table._client)
    again = Table(engine, table.name)
    engine.left = 30
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


async def test_a_stream_counted_table_is_counted_by_its_writers_after_it(table: Table) -> None:
    await CommentStore(table).put_many(ROWS)
    counting = CountingStore(table)
    await counting.announce(await counting.read(), mode=Mode.STREAM, complete=False)
    await table.put_many([encode_comment(replace(ROWS[0], comment_id="foreign"))])
    await rebuild(table, at_once, ignore)
    store = CommentStore(table)
    await store.add(replace(ROWS[0], comment_id="ours"))
    await exact(table)


async def test_items_without_comments_come_to_zero_and_off_the_boards(each_table: Table) -> None:
    gone = [StatisticsKey(f"p{n}", language) for n in range(70) for language in (None, "en")]
    await each_table.put_many([encode(key, RatingCounts((0, 0, 0, 0, 3))) for key in gone])
    await rebuild(each_table, at_once, ignore)
    for keys in batched(gone, 30):
        for item in await each_table.get_many([item_key(key) for key in keys]):
            assert item["count_5"] == {"N": "0"}
            assert not {"GSIPK", "GSISK"} & item.keys()
    await exact(each_table)


async def test_what_is_no_comment_is_left_alone(table: Table) -> None:
    await CommentStore(table).put_many(ROWS[:3])
    garbage = {"PK": {"S": "COMMENT#x"}, "SK": {"S": "COMMENT#x"}, "data": {"S": "none"}}
    await table.put_many([garbage])
    await rebuild(table, at_once, ignore)
    assert await table.get({"PK": garbage["PK"], "SK": garbage["SK"]}) == garbage
    await exact(table)
