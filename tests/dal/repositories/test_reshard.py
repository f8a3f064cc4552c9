"""Comments over shards: at rest, and at every step of a move while others read and write."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from dal import errors
from dal.entities.comment import ALL, COMMENT, id_in, is_comment
from dal.entities.shard_layout import PLAIN, ShardLayout
from dal.model import Comment
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.repositories.reshard import reshard
from dal.statistics import maintenance_mode
from dal.statistics.maintenance_mode import (
    LAYOUT_KEPT_SECONDS,
    MOVE_SETTLE_SECONDS,
    MaintenanceMode,
    MaintenanceStore,
)
from dal.statistics.rebuild.announce import rebuild
from dal.statistics.verify import verify
from dal.table.account import opened
from dal.table.client import Table
from dal.table.gate import ATTEMPT_SECONDS
from dal.table.item import Item
from dal.table.parallel_scan import scan_all
from dal.table.requests import QueryRequest
from dal.table.retries import DEADLINE
from tests import oracle, recount
from tests.amazon import Amazon, settle
from tests.engines import SECOND_IN_SOAK
from tests.writers import PRODUCTS, Engine, Killed, Writers, at_once, ignore

CALM = "calm/1"
ROWS = oracle.make_comments(CALM, 40, seed=8)
EVERY = list(oracle.selections(CALM))
MOVES = [
    (1, 4),
    (16, 4),
    *(pytest.param(*move, marks=pytest.mark.soak) for move in ((4, 1), (4, 16))),
]


async def spread(table: Table, shards: int) -> None:
    store = MaintenanceStore(table)
    await store.announce(await store.read(), layout=ShardLayout(shards))


async def misplaced(table: Table) -> list[Item]:
    """The comments that have other keys than is announced."""
    layout, found = (await MaintenanceStore(table).read()).layout, list[Item]()
    assert layout.step == 0

    def look(items: Any) -> None:
        found.extend(one for one in items if is_comment(one) and one | layout.keys(one) != one)

    await scan_all(table, ignore, look)
    return found


EACH_INDEX = [
    Selection(CALM, ratings, languages)
    for ratings in (None, frozenset({5}))
    for languages in (None, frozenset({"fr"}), frozenset({"de"}))
]


class Walks:
    """Walks one selection after the other, and compares each with the oracle."""

    def __init__(self, *stores: CommentRepository, rows: list[Comment] = ROWS) -> None:
        self.stores, self.rows, self.number = stores, rows, 0

    async def __call__(self, times: int = 1) -> None:
        for _ in range(times):
            self.number += 1
            await self.check(EVERY[self.number * 11 % len(EVERY)], (3, 7, 20)[self.number % 3])

    async def check(self, selection: Selection, size: int) -> None:
        """Walk one selection by each store, in turn from either end."""
        for number, store in enumerate(self.stores):
            backward = (self.number + number) % 2 == 0
            walked = await oracle.walk(store, selection, size, backward=backward)
            assert walked == oracle.selected(self.rows, selection), selection

    async def each_index(self) -> None:
        """Walk selections that have an index each."""
        for selection in EACH_INDEX:
            await self.check(selection, 20)


@pytest.mark.parametrize("shards", [1, 4, 16])
@SECOND_IN_SOAK
async def test_walks_and_counts_are_exact_over_shards(each_table: Table, shards: int) -> None:
    await spread(each_table, shards)
    store = CommentRepository(each_table)
    await store.put_many(ROWS)
    gone, edited = ROWS[3], ROWS[11]._replace(rating=1, language="ar")
    await store.delete(gone.comment_id, lambda _: None)
    changes = {"rating": 1, "language": "ar"}
    edge = await store.update(edited.comment_id, changes, lambda _: None)
    rows = [edge.node if one.comment_id == edited.comment_id else one for one in ROWS]
    rows.remove(gone)
    await Walks(store, rows=rows)(30)
    assert await misplaced(each_table) == []
    assert await verify(each_table, ignore) == []
    page = await store.counted_page(Selection(CALM, frozenset({1})), Slice(5))
    assert page.total_count == sum(one.rating == 1 for one in rows)
    found = {row.comment_id: row for row in rows}
    assert await store.get_many([one.comment_id for one in ROWS]) == found
    assert (await store.put_many(rows)).unchanged == len(rows)


async def test_every_way_to_write_goes_by_the_shards(each_table: Table) -> None:
    """A rebuild's mark, stream mode, and a comment that is added again after its deletion."""
    await spread(each_table, 4)
    store = CommentRepository(each_table)
    await store.put_many(ROWS[:9])
    await rebuild(each_table, at_once, ignore)
    keyed = (await store.add(ROWS[9], "once")).node
    await store.delete(keyed.comment_id, lambda _: None)
    maintenance = MaintenanceStore(each_table)
    await maintenance.announce(await maintenance.read(), mode=MaintenanceMode.STREAM)
    store.maintenance.forget()
    await store.add(ROWS[10])
    await store.update(ROWS[0].comment_id, {"rating": 2}, lambda _: None)
    await store.put_many(ROWS[11:13])
    walked = await oracle.walk(store, Selection(CALM), 5, backward=False)
    assert {one.comment_id for one in walked} == {
        one.comment_id for one in (*ROWS[:9], *ROWS[10:13])
    }
    assert await misplaced(each_table) == []


async def test_one_shard_keeps_the_keys_of_before(table: Table) -> None:
    await CommentRepository(table).put_many(ROWS)
    for row in ROWS:
        encoded = COMMENT.encode(row)
        assert encoded | PLAIN.keys(encoded) == encoded
    assert await misplaced(table) == []
    said = await table.get(maintenance_mode.KEY) or {}
    assert not {"shards", "target", "step"} & said.keys()


async def nothing(_: str) -> None:
    """Let it be."""


class Watched(Engine):
    """A client that shows what is there after each of its transactions.

    Before each it tells the key of the first comment that is to be moved.
    """

    def __init__(
        self,
        client: Any,
        look: Callable[[], Awaitable[None]],
        meddle: Callable[[str], Awaitable[None]] = nothing,
    ) -> None:
        super().__init__(client)
        self._look, self._meddle = look, meddle

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if operation != "transact_write_items":
            return await super().call(operation, arguments)
        (action, *_) = arguments["TransactItems"]
        if "Update" in action:
            await self._meddle(id_in(action["Update"]["Key"]))
        answer = await super().call(operation, arguments)
        await self._look()
        return answer


@pytest.mark.parametrize(("before", "after"), MOVES)
@SECOND_IN_SOAK
async def test_a_move_misses_no_row_at_any_step(each_table: Table, before: int, after: int) -> None:
    """Who has not heard of a step yet reads and writes beside those who have."""
    await spread(each_table, before)
    told, late = CommentRepository(each_table), CommentRepository(each_table)
    live = {row.comment_id: row for row in ROWS}
    await told.put_many(ROWS)
    walks = Walks(told, late)
    steps = list[ShardLayout]()

    async def look() -> None:
        walks.rows = list(live.values())
        await walks(2)

    async def meddle(comment_id: str) -> None:
        """Edit a comment that the mover has just seen."""
        rating = live[comment_id].rating % 5 + 1
        edge = await told.update(comment_id, {"rating": rating}, lambda _: None)
        live[comment_id] = edge.node

    async def write(store: CommentRepository, number: int) -> None:
        row = oracle.newest_first(live.values())[number % len(live)]
        edge = await store.update(row.comment_id, {"rating": 5, "language": "de"}, lambda _: None)
        live[row.comment_id] = edge.node
        new = row._replace(comment_id=f"new{number}", rating=5, language="fr")
        await store.add(new)
        live[new.comment_id] = new
        old = oracle.newest_first(live.values())[number * 3 % len(live)]
        await store.delete(old.comment_id, lambda _: None)
        del live[old.comment_id]

    async def wait() -> None:
        told.maintenance.forget()
        steps.append(await told.maintenance.layout())
        await look()
        await write(late, 2 * len(steps))
        await write(told, 2 * len(steps) + 1)
        walks.rows = list(live.values())
        await walks.each_index()
        late.maintenance.forget()
        await look()

    await look()  # both have read what was announced before
    mover = Table(Watched(each_table._client, look, meddle), each_table.name)
    assert await reshard(mover, after, wait, ignore)
    told.maintenance.forget()
    await look()
    late.maintenance.forget()
    await look()
    assert [one.step for one in steps] == [1, 2, 2, 3, 4, 4]
    assert await misplaced(each_table) == []
    assert await verify(each_table, ignore) == []
    assert not await reshard(each_table, after, at_once, ignore)


async def in_all(table: Table, layouts: list[ShardLayout]) -> set[str]:
    """The ids of the comments in ``all``, in the shards of any of some layouts."""
    found = set[str]()
    for layout in layouts:
        index = layout.written(ALL)
        for shard in range(index.shards):
            partition = index.partition_of({"product": CALM}, shard)
            answer = await table.query(QueryRequest(index, partition))
            found.update(id_in(item) for item in answer.items)
    return found


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_move_misses_no_row_while_indexes_lag(table: Table, seed: int) -> None:
    """Not even where a row is in neither of its shards: nobody reads these then."""
    amazon = Amazon(table._client, seed=seed)
    lagging = Table(amazon, table.name)
    store = CommentRepository(lagging)
    await store.put_many(ROWS)
    amazon.lag.most = 600.0
    walks, missed = Walks(store), 0

    async def look() -> None:
        nonlocal missed
        amazon.clock.advance(100.0)
        await walks()
        missed += len(await in_all(lagging, [before, ShardLayout(after)])) < len(ROWS)

    async def wait() -> None:
        store.maintenance.forget()
        amazon.settle()
        await walks.each_index()

    for after in (4, 16, 1):
        before = await store.maintenance.layout()
        assert await reshard(Table(Watched(amazon, look), table.name), after, wait, ignore)
        store.maintenance.forget()
        await walks.each_index()
    assert missed > 0, "who reads the rows that move misses some"


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 9))]
)
async def test_beside_writers_who_do_everything_it_ends_exact(table: Table, seed: int) -> None:
    store = CommentRepository(table)
    await store.put_many(ROWS)
    settle(table)
    walks = Walks(store)
    async with Writers(table, seed) as writers:
        await writers.until(5)

        async def wait() -> None:
            await writers.settle()
            settle(table)  # what indexes lag by is waited for, too
            store.maintenance.forget()
            await walks()

        for shards in (4, 16, 1):
            table_of_mover = Table(Watched(table._client, walks), table.name)
            assert await reshard(table_of_mover, shards, wait, ignore)
            await writers.settle()
            store.maintenance.forget()
            await writers.until(writers.writes + 3)
    await walks(10)
    assert await misplaced(table) == []
    assert await verify(table, ignore) == []
    for product in PRODUCTS[:2]:
        await recount.check(table, product)


@pytest.mark.parametrize(
    "at", [0, 3, 9, 14, *(pytest.param(at, marks=pytest.mark.soak) for at in range(1, 40, 3))]
)
async def test_interrupted_it_goes_on(table: Table, at: int) -> None:
    store = CommentRepository(table)
    await store.put_many(ROWS)
    engine = Engine(table._client)
    engine.left, engine.done_before_death = at, at % 2 == 0
    with suppress(BaseExceptionGroup, Killed):
        await reshard(Table(engine, table.name), 4, at_once, ignore)
    walks = Walks(store)
    store.maintenance.forget()
    await walks(3)
    layout = await store.maintenance.layout()
    if layout.step:
        with pytest.raises(errors.StoreRefusedError, match="move from 1 to 4 shards: let that end"):
            await reshard(table, 16, at_once, ignore)
    assert await reshard(table, 4, at_once, ignore) == (layout != ShardLayout(4))
    store.maintenance.forget()
    await walks(3)
    assert await misplaced(table) == []


async def test_a_rebuild_and_a_move_exclude_each_other(table: Table) -> None:
    maintenance = MaintenanceStore(table)
    state = await maintenance.read()
    moving = await maintenance.announce(state, layout=PLAIN.next(4))
    with pytest.raises(errors.StoreRefusedError, match="cannot run at once"):
        await rebuild(table, at_once, ignore)
    state = await maintenance.announce(moving, layout=PLAIN, rebuilding=True)
    with pytest.raises(errors.StoreRefusedError, match="cannot run at once"):
        await reshard(table, 4, at_once, ignore)
    await maintenance.announce(state, rebuilding=False)
    assert await reshard(table, 4, at_once, ignore)


async def test_without_transactions_nothing_is_announced(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never() -> bool:
        return False

    monkeypatch.setattr(table, "has_transactions", never)
    with pytest.raises(errors.StoreRefusedError, match="has no transactions"):
        await reshard(table, 4, at_once, ignore)
    assert (await MaintenanceStore(table).read()).layout == PLAIN


@pytest.mark.parametrize("shards", [0, 17])
async def test_a_number_of_shards_has_bounds(table: Table, shards: int) -> None:
    with pytest.raises(errors.StoreRefusedError, match="none of 1 to 16"):
        await reshard(table, shards, at_once, ignore)


async def test_readers_ask_for_the_number_of_shards_now_and_then(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, store = [100.0], CommentRepository(table)
    monkeypatch.setattr("dal.statistics.maintenance_mode.monotonic", lambda: now[0])
    reads, read = list[float](), store.maintenance.read

    async def counted() -> maintenance_mode.Maintenance:
        reads.append(now[0])
        return await read()

    monkeypatch.setattr(store.maintenance, "read", counted)
    for _ in range(8):
        with opened() as account:
            page = await store.page(Selection(CALM), Slice(5))
        assert account.requests == page.stats.requests, "no page pays for it"
        now[0] += LAYOUT_KEPT_SECONDS / 4
    assert reads == [100.0, 100.0 + LAYOUT_KEPT_SECONDS]


def test_a_step_outlasts_whoever_has_not_heard_of_it() -> None:
    assert MOVE_SETTLE_SECONDS >= LAYOUT_KEPT_SECONDS + DEADLINE + ATTEMPT_SECONDS
