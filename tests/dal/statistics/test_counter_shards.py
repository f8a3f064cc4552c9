"""Counters over shards: exact at rest, at every step between numbers, and once they are folded."""

import asyncio
import random

import pytest

from dal import errors
from dal.entities.comment import COMMENT, id_in, is_comment
from dal.entities.shard_layout import PLAIN
from dal.model import Comment
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.repositories.reshard import reshard_counters
from dal.statistics import counter_items
from dal.statistics.counter_items import encode
from dal.statistics.counter_shards import ONE_COUNTER, CounterShards
from dal.statistics.counts import RatingCounts, StatisticsKey
from dal.statistics.maintenance_mode import KEY, MaintenanceStore
from dal.statistics.rebuild.announce import rebuild
from dal.statistics.verify import Difference, verify
from dal.table.client import Table
from dal.table.index import TABLE
from dal.table.item import Item
from dal.table.parallel_scan import SCAN_SEGMENTS
from dal.table.requests import QueryRequest
from tests import oracle, recount
from tests.engines import SECOND_IN_SOAK
from tests.fakes import Answer, FaultyClient
from tests.writers import PRODUCTS, ROWS, Engine, Writers, at_once, ignore, spoil

PRODUCT = "calm/1"
COMMENTS = oracle.make_comments(PRODUCT, 40, seed=8)
EVERY = list(oracle.selections(PRODUCT))


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dal.statistics.verify.PAUSE_SECONDS", 0)


def anybody(_: Comment) -> None:
    """Refuse nobody."""


async def spread(table: Table, shards: int) -> None:
    """As a new table is made."""
    store = MaintenanceStore(table)
    await store.announce(await store.read(), counters=CounterShards(shards))


async def items_of(table: Table, product: str = PRODUCT) -> list[Item]:
    partition = counter_items.partition_of(product)
    request = QueryRequest(TABLE, partition, counter_items.SORT_KEYS, consistent=True)
    return list((await table.query(request)).items)


async def shards_of(table: Table, product: str = PRODUCT) -> set[int | None]:
    keys = [counter_items.decode(item)[0] for item in await items_of(table, product)]
    return {key.shard for key in keys if key.language is not None}


class Live:
    """The comments of one product, as some stores write them, and what all must count."""

    def __init__(self, *stores: CommentRepository, seed: int = 1) -> None:
        self.stores, self.chance = stores, random.Random(seed)
        self.rows = {row.comment_id: row for row in COMMENTS}
        self.fresh = 0

    async def write(self, store: CommentRepository) -> None:
        """Add, edit and delete one comment each."""
        await self.add(store)
        row = self.chance.choice(list(self.rows.values()))
        changes = {
            "rating": self.chance.randint(1, 5),
            "language": self.chance.choice(["en", "de"]),
        }
        self.rows[row.comment_id] = (await store.update(row.comment_id, changes, anybody)).node
        gone = self.chance.choice(list(self.rows))
        await store.delete(gone, anybody)
        del self.rows[gone]

    async def add(self, store: CommentRepository) -> None:
        self.fresh += 1
        row = self.chance.choice(COMMENTS)._replace(comment_id=f"new{self.fresh}")
        self.rows[row.comment_id] = (await store.add(row)).node

    async def check(self) -> None:
        rows = list(self.rows.values())
        for store in self.stores:
            found = await store.statistics.read(PRODUCT, consistent=True)
            assert found.sound
            for language in found.by_language:
                of = [row.rating for row in rows if row.language == language]
                assert found.by_language[language].by_rating == tuple(
                    of.count(rating) for rating in range(1, 6)
                )
            assert found.total == len(rows)
            selection = self.chance.choice(EVERY)
            expected = oracle.selected(rows, selection)
            assert await oracle.walk(store, selection, 7, backward=False) == expected
            assert await store.total(selection) == len(expected)


@pytest.mark.parametrize("shards", [1, 4, 16])
@SECOND_IN_SOAK
async def test_counts_and_walks_are_exact_over_shards(each_table: Table, shards: int) -> None:
    await spread(each_table, shards)
    stores = [CommentRepository(each_table) for _ in range(2)]
    await stores[0].put_many(COMMENTS)
    live = Live(*stores)
    for _ in range(12):
        for store in stores:
            await live.write(store)
    await live.check()
    await asyncio.gather(*(live.add(stores[n % 2]) for n in range(60)))
    await live.check()
    used = await shards_of(each_table) - {None}
    assert used <= {*range(shards)}
    assert (len(used) > 1) == (shards > 1)
    assert await verify(each_table, ignore) == []
    await stores[0].boards.finish()
    page = await stores[0].leaderboard.page(None, Slice(5), ranked=True)
    fives = sum(row.rating == 5 for row in live.rows.values())
    assert [(node.product.product_id, node.count) for node in page.nodes] == [(PRODUCT, fives)]


async def test_one_shard_costs_nothing_and_many_cost_a_writer_nothing(table: Table) -> None:
    client = FaultyClient(table._client)
    watched = Table(client, table.name)
    written = list[list[str]]()
    for shards in (1, 16):
        await spread(table, shards)
        store = CommentRepository(watched)
        await store.maintenance.current()
        client.calls.clear()
        await store.add(COMMENTS[shards])
        ((operation, sent),) = client.calls
        assert operation == "transact_write_items"
        written.append([next(iter(one)) for one in sent["TransactItems"]])
        await store.statistics.read(PRODUCT, consistent=True)
        assert len(client.calls) == 2, "one Query reads all shards"
    assert written[0] == written[1] == ["Put", "Update"]
    await spread(table, 1)
    assert "counter_shards" not in (await table.get(KEY) or {})


@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 16), (16, 1)])
@SECOND_IN_SOAK
async def test_a_change_of_the_number_is_exact_at_every_step(
    each_table: Table, before: int, after: int
) -> None:
    """Who has not heard of a step yet reads and writes beside those who have."""
    await spread(each_table, before)
    told, late = CommentRepository(each_table), CommentRepository(each_table)
    await told.put_many(COMMENTS)
    live, steps = Live(told, late), list[CounterShards]()

    async def look() -> None:
        for store in (late, told):
            await live.write(store)
            await live.check()

    async def wait() -> None:
        told.maintenance.forget()
        now = await told.maintenance.current()
        assert not now.exact, "some sum is not of one moment"
        assert now.up_to_date
        steps.append(now.counters)
        await look()
        late.maintenance.forget()
        await look()

    await look()
    assert await reshard_counters(each_table, after, wait)
    told.maintenance.forget()
    await look()
    assert steps == [CounterShards(before, after), CounterShards(after, after)]
    assert (await told.maintenance.current()).exact == (after == 1)
    assert await verify(each_table, ignore) == []
    assert not await reshard_counters(each_table, after, at_once)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.soak)])
async def test_beside_writers_who_do_everything_it_ends_exact(table: Table, seed: int) -> None:
    await CommentRepository(table).put_many(ROWS)
    async with Writers(table, seed) as writers:
        await writers.until(5)
        for shards in (4, 16, 1):
            assert await reshard_counters(table, shards, writers.settle)
            await writers.settle()
            await writers.until(writers.writes + 5)
    assert await verify(table, ignore) == []
    for product in PRODUCTS[:2]:
        await recount.check(table, product)


@SECOND_IN_SOAK
@pytest.mark.parametrize("shards", [1, 4])
async def test_a_rebuild_beside_writers_leaves_no_shard_of_another_number(
    each_table: Table, shards: int
) -> None:
    await spread(each_table, 16)
    await CommentRepository(each_table).put_many([row for n, row in enumerate(ROWS) if n % 9])
    await spoil(each_table, 3)
    wrong = [StatisticsKey(product, "en", shard=9) for product in PRODUCTS]
    await each_table.put_many([encode(key, RatingCounts((1, 0, 0, 0, 2))) for key in wrong])
    await spread(each_table, shards)
    table = Table(Engine(each_table._client), each_table.name)
    async with Writers(each_table, 3) as writers:
        await writers.until(10)
        await rebuild(table, writers.settle, ignore)
        await writers.until(writers.writes + 10)
    assert await verify(each_table, ignore) == []
    for product in PRODUCTS:
        allowed = {None} if shards == 1 else {None, *range(shards)}
        assert await shards_of(each_table, product) <= allowed
    for product in PRODUCTS[:2]:
        await recount.check(each_table, product)


class DeletesWhatIsScanned(FaultyClient):
    """Deletes a comment once all of the table was scanned, and before the answer is there."""

    def __init__(self, table: Table) -> None:
        super().__init__(table._client)
        self._store = CommentRepository(table)
        self._others, self._scanned = 0, asyncio.Event()

    async def call(self, operation: str, arguments: Answer) -> Answer:
        answer = await super().call(operation, arguments)
        if operation == "scan":
            found = [id_in(item) for item in answer["Items"] if is_comment(item)]
            self._others += not found
            if self._others == SCAN_SEGMENTS - 1:
                self._scanned.set()
            for comment_id in found:
                await self._scanned.wait()
                await self._store.delete(comment_id, anybody)
        return answer


@pytest.mark.parametrize("shards", [1, 16])
async def test_a_counter_that_the_scan_of_a_rebuild_has_not_seen_is_cut_over(
    table: Table, shards: int
) -> None:
    """It comes by the deletion of a comment that nobody has counted."""
    await spread(table, shards)
    await table.put_many([COMMENT.encode(COMMENTS[0])])
    await rebuild(Table(DeletesWhatIsScanned(table), table.name), at_once, ignore)
    assert len(await items_of(table)) == 1
    assert await verify(table, ignore) == []


async def test_verify_tells_the_shard_whose_total_is_wrong_and_sums_its_counts(
    table: Table,
) -> None:
    await CommentRepository(table).put_many(COMMENTS)
    key = StatisticsKey(PRODUCT, "de", shard=3)
    wrong = encode(key, RatingCounts((0, 2, 0, 0, 0)))
    await table.put_many([wrong | {"count_total": {"N": "5"}}])
    right = sum((row.language, row.rating) == ("de", 2) for row in COMMENTS)
    assert await verify(table, ignore) == [
        Difference(key._replace(shard=None), "rating 2", right + 2, right),
        Difference(key._replace(shard=None), "total of shard 3", 5, 2),
    ]


async def test_a_zero_is_proof_over_one_shard_alone(table: Table) -> None:
    """A sum that is torn by an add and a delete on either side of it may miss a comment."""
    store = CommentRepository(table)
    await store.put_many(COMMENTS)
    empty = Selection(PRODUCT, frozenset({1, 5}), frozenset({"xx", "yy", "en"}))
    for shards, exact in ((1, True), (4, False), (1, True)):
        await reshard_counters(table, shards, at_once)
        store.maintenance.forget()
        assert (await store.maintenance.current()).exact == exact
        assert await store.total(empty) == len(oracle.selected(COMMENTS, empty))


async def test_interrupted_it_goes_on_and_excludes_others(table: Table) -> None:
    class Stop(Exception):  # noqa: N818 - it ends a test's command
        pass

    async def stop() -> None:
        raise Stop

    for _ in range(2):
        with pytest.raises(Stop):
            await reshard_counters(table, 4, stop)
    with pytest.raises(errors.StoreRefusedError, match="or `marginalia table reshard`"):
        await rebuild(table, at_once, ignore)
    with pytest.raises(
        errors.StoreRefusedError, match="let that end first, by `marginalia table r"
    ):
        await reshard_counters(table, 16, at_once)
    assert await reshard_counters(table, 4, at_once)
    state = await MaintenanceStore(table).read()
    assert (state.counters, state.layout) == (CounterShards(4), PLAIN)


async def test_during_a_rebuild_the_number_stays(table: Table) -> None:
    maintenance = MaintenanceStore(table)
    await maintenance.announce(await maintenance.read(), rebuilding=True)
    with pytest.raises(errors.StoreRefusedError, match="cannot run at once"):
        await reshard_counters(table, 4, at_once)
    assert (await maintenance.read()).counters == ONE_COUNTER


@pytest.mark.parametrize("shards", [0, 17])
async def test_the_number_has_bounds(table: Table, shards: int) -> None:
    with pytest.raises(errors.StoreRefusedError, match="none of 1 to 16"):
        await reshard_counters(table, shards, at_once)
