"""The maintenance mode: stored in the table, read before transactions, cached for five seconds."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from dal.counts import mode
from dal.counts.mode import (
    KEPT_SECONDS,
    SETTLE_SECONDS,
    Maintenance,
    MaintenanceMode,
    MaintenanceStore,
    unchanged_since,
)
from dal.dynamodb.errors import AlreadyExistsError, ConditionFailedError, ConflictError
from dal.dynamodb.gate import ATTEMPT_SECONDS
from dal.dynamodb.retries import DEADLINE
from dal.dynamodb.table import Table
from dal.entities.comment import COUNTED, comment_key
from dal.maintenance.rebuild import rebuild
from dal.maintenance.tables import create_table
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from dal.table.index import TABLE, QueryRequest
from dal.writes.changes import CommentChange
from tests import oracle, recount
from tests.conftest import Clients
from tests.edges import edge_of
from tests.putting import put_comments
from tests.verifying import verify
from tests.writers import at_once, ignore

FLAGS = ("rebuilding", "complete")
ROWS = oracle.make_comments("42", 4, seed=5)
STATES = [
    Maintenance(mode, generation, rebuilding, complete)
    for mode in MaintenanceMode
    for generation in (0, 3)
    for rebuilding in (False, True)
    for complete in (False, True)
]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("dal.counts.mode.monotonic", lambda: now[0])
    return now


async def say(table: Table, **changes: Any) -> Maintenance:
    store = MaintenanceStore(table)
    return await store.announce(await store.read(), **changes)


async def test_a_new_table_is_complete(clients: Clients, dynoxide_url: str) -> None:
    table = Table(await clients.of(dynoxide_url), "created")
    assert await create_table(table)
    assert (await MaintenanceStore(table).read()).exact
    await say(table, complete=False)
    assert not await create_table(table)
    assert not (await MaintenanceStore(table).read()).complete


async def test_a_restored_table_is_not_complete(table: Table) -> None:
    """A backup's items are from different moments. The restored table has another table id."""
    assert (await MaintenanceStore(table).read()).exact
    item = await table.get(mode.KEY)
    assert item is not None
    await table.put_many([{**item, "complete": {"S": "the table that was backed up"}}])
    restored = await MaintenanceStore(table).read()
    assert restored.copied
    assert not restored.exact
    await rebuild(table, at_once, ignore)
    again = await MaintenanceStore(table).read()
    assert again.exact
    assert not again.copied


async def test_a_table_that_an_earlier_version_counted_has_no_totals_before_a_rebuild(
    table: Table,
) -> None:
    """An earlier version did not count buyers' comments and those with photos."""
    stores = Stores(table)
    rows = oracle.flagged(oracle.make_comments("42", 20, seed=1))
    await put_comments(stores.comments, rows)
    item, selection = await table.get(mode.KEY) or {}, Selection("42", verified_only=True)
    counters = await table.query(QueryRequest(TABLE, "PRODUCT#42", consistent=True))
    await table.put_many(
        [
            {name: value for name, value in one.items() if name[0] not in "fvp"}
            for one in (item, *counters.items)
        ]
    )
    stores.maintenance.forget()
    earlier = await stores.maintenance.read()
    assert (earlier.exact, earlier.copied, earlier.counted) == (False, False, True)
    assert await stores.comments.total(selection) is None
    assert await verify(table, ignore) != []
    await rebuild(table, at_once, ignore)
    stores.maintenance.forget()
    assert await stores.comments.total(selection) == len(oracle.selected(rows, selection)) > 0
    assert await verify(table, ignore) == []


async def test_without_the_item_writers_count_and_a_zero_proves_nothing(table: Table) -> None:
    await table.write([{"Delete": {"Key": mode.KEY}}])
    read = await MaintenanceStore(table).read()
    assert read == Maintenance()
    assert [read.exact, read.dual_writes] == [False] * 2


async def test_an_announcement_is_read_as_it_was_written(each_table: Table) -> None:
    store = MaintenanceStore(each_table)
    for state in STATES:
        read = await store.read()
        said = await store.announce(
            read, **{name: getattr(state, name) for name in ("mode", "generation", *FLAGS)}
        )
        found = await store.read()
        assert found == said
        assert found == replace(
            state, since=said.since, counted_table=said.counted_table, flags=said.flags
        )
        assert (said.flags != "") is said.complete
        await each_table.write([unchanged_since(said)])
        with pytest.raises(ConditionFailedError):
            await each_table.write([unchanged_since(replace(said, generation=99))])


@pytest.mark.parametrize("attribute", ["shards", "step", "counter_shards", "counter_target"])
async def test_a_table_with_shards_is_refused(table: Table, attribute: str) -> None:
    await say(table, complete=True)
    item = await table.get(mode.KEY)
    assert item is not None
    await table.put_many([{**item, attribute: {"N": "4"}}])
    with pytest.raises(StoreRefusedError, match="shards"):
        await MaintenanceStore(table).read()


async def test_one_of_two_concurrent_announcements_is_refused(each_table: Table) -> None:
    store = MaintenanceStore(each_table)
    read = await store.read()
    await store.announce(read, generation=1, rebuilding=True)
    with pytest.raises(ConflictError, match="Another command"):
        await store.announce(read, generation=1, mode=MaintenanceMode.STREAM)


async def test_the_mode_is_read_at_most_every_five_seconds(
    table: Table, clock: list[float]
) -> None:
    store = MaintenanceStore(table)
    first = await store.current()
    await say(table, generation=1)
    clock[0] += KEPT_SECONDS - 0.1
    assert await store.current() is first
    clock[0] += 0.1
    assert (await store.current()).generation == 1


def test_the_wait_for_writers_is_longer_than_any_unfinished_write() -> None:
    """A write may cache the mode just before the announcement, and use its whole deadline.

    It may send its last attempt just before the deadline.
    """
    assert SETTLE_SECONDS > KEPT_SECONDS + DEADLINE + ATTEMPT_SECONDS


async def test_a_mode_that_took_too_long_to_read_is_read_again(
    table: Table, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, took = MaintenanceStore(table), [KEPT_SECONDS, 0.0]
    read = store.read

    async def slow() -> Maintenance:
        answer = await read()
        clock[0] += took.pop(0)
        return answer

    monkeypatch.setattr(store, "read", slow)
    await store.current()
    assert took == []


def test_a_zero_is_trusted_in_only_one_state() -> None:
    trusted = [state for state in STATES if state.exact]
    assert {(one.mode, one.rebuilding, one.complete) for one in trusted} == {
        (MaintenanceMode.TRANSACTIONAL, False, True)
    }


async def test_in_stream_mode_the_store_writes_no_counter(each_table: Table) -> None:
    await say(each_table, mode=MaintenanceMode.STREAM)
    store = Stores(each_table).comments
    edges = await asyncio.gather(*(store.add(row, row.comment_id) for row in ROWS))
    added = [edge_of(one).node for one in edges]
    assert edge_of(await store.add(ROWS[0], ROWS[0].comment_id)).node == added[0]
    await store.update(added[0].comment_id, {"rating": 1}, lambda _: None)
    await store.delete(added[1].comment_id, lambda _: None)
    await put_comments(store, [added[2]._replace(rating=3)])
    with pytest.raises(AlreadyExistsError):
        await store.add(added[3]._replace(text="another"))
    assert await recount.stored(each_table, "42") == {}
    left = {row.comment_id: row.rating for row in await recount.comments_of(store, "42")}
    assert left == {
        added[0].comment_id: 1,
        added[2].comment_id: 3,
        added[3].comment_id: added[3].rating,
    }


async def test_a_waiting_write_uses_a_mode_that_is_announced_later(
    table: Table, clock: list[float]
) -> None:
    store = Stores(table).comments
    await store.add(ROWS[0])
    async with store.writer.transactions._locks.hold(["42"], deadline=5):
        waiting = asyncio.create_task(store.add(ROWS[1]))
        await asyncio.sleep(0.01)
        await say(table, mode=MaintenanceMode.STREAM)
        clock[0] += KEPT_SECONDS
    await waiting
    assert (await recount.stored(table, "42"))[f"S#{ROWS[0].language}"]["count_total"] == "1"


async def test_the_generation_of_a_rebuild_does_not_count_as_a_change_of_a_row(
    each_table: Table,
) -> None:
    stores = Stores(each_table)
    store = stores.comments
    await put_comments(store, ROWS)
    await say(each_table, generation=4, rebuilding=True)
    stores.maintenance.forget()
    await put_comments(store, ROWS)  # nothing to write
    assert COUNTED not in (await each_table.get(comment_key(ROWS[0].comment_id)) or {})
    await store.update(ROWS[0].comment_id, {"text": "other"}, lambda _: None)
    stamped = await each_table.get(comment_key(ROWS[0].comment_id)) or {}
    assert stamped[COUNTED] == {"N": "4"}
    row = await store.get(ROWS[0].comment_id)
    assert row is not None
    await put_comments(store, [row])
    await store.delete(row.comment_id, lambda _: None)
    await recount.check(each_table, "42")


async def test_a_rebuild_between_read_and_write_fails_the_condition(table: Table) -> None:
    """The deletion must subtract the comment from the rebuild's counters too."""
    await Stores(table).comments.add(ROWS[0])
    held = await table.get(comment_key(ROWS[0].comment_id)) or {}
    await table.put_many([held | {COUNTED: {"N": "4"}}])
    store = Stores(table).comments
    with pytest.raises(ConditionFailedError):
        await store.writer.transactions.write(CommentChange(held, None))
    assert await store.get(ROWS[0].comment_id) == ROWS[0]
