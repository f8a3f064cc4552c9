"""After each bulk write, even an interrupted one, the counters equal the stored rows."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.counts.mode import Maintenance
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.model import Comment
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from dal.writes.changes import MOST_ACTIONS, CommentChange
from dal.writes.overwrite import Outcome
from features.loading.bulk_write import chains, transactions
from features.loading.loaded import loaded
from tests import oracle, recount
from tests.calls import calls_of
from tests.dal.dynamodb.test_concurrency import Clock, clock, stays_below_its_units
from tests.engines import SECOND_IN_SOAK
from tests.fakes import Answer, Fault, FaultyClient, Operation, client_error, lose_answer
from tests.features.loading.bulk import bulk_writer, load_rows
from tests.integration.test_counts import Step, check_history, faults, histories
from tests.strategies import FEW, LANGUAGES, MORE, comment

__all__ = ["clock"]

ROWS = oracle.make_comments("42", 260, seed=6)
CHANGED = [
    row._replace(
        rating=row.rating % 5 + 1,
        language="fr",
        text="changed",
        updated_at=row.created_at + timedelta(1),
    )
    for row in ROWS[::3]
]


def by_id(*runs: list[Comment]) -> set[Comment]:
    """Return the comments that are stored after these loads, one after another."""
    return set({row.comment_id: row for run in runs for row in run}.values())


class Watch:
    """A repository whose transactions a test can disturb.

    ``on[number]`` is an error of transaction ``number``, or a comment that another client writes
    before.
    """

    def __init__(self, table: Table) -> None:
        self.client = FaultyClient(table.service)
        self.store = Stores(Table(self.client, table.name)).comments
        self.bulk = bulk_writer(self.store)
        self.writes: list[list[str]] = []
        self.on: dict[int, Exception | Comment] = {}
        self.client._faults = [self._each] * 10_000
        self._beside = Stores(table).comments

    async def _each(self, real: Operation, arguments: Answer) -> Answer:
        if "TransactItems" not in arguments:
            return await real(**arguments)
        number = len(self.writes)
        self.writes.append([kind for one in arguments["TransactItems"] for kind in one])
        happens = self.on.get(number)
        if isinstance(happens, Comment):
            await load_rows(self._beside, [happens])
        elif happens is not None:
            raise happens
        return await real(**arguments)


async def test_a_load_counts_its_rows_in_large_transactions(
    each_table: Table,
) -> None:
    watch = Watch(each_table)
    assert await watch.bulk.put(ROWS) == Outcome(new=len(ROWS))
    assert set(await recount.check(each_table, "42")) == set(ROWS)
    assert len(watch.writes) == 3
    assert all(len(kinds) <= MOST_ACTIONS for kinds in watch.writes)
    assert sum(kinds.count("Put") for kinds in watch.writes) == len(ROWS)


@MORE
@given(
    st.lists(st.tuples(st.sampled_from("abcdefghij"), st.sampled_from(LANGUAGES)), max_size=400),
)
def test_the_transactions_of_a_product_follow_one_after_the_other(
    keys: list[tuple[str, str]],
) -> None:
    rows = [comment(str(n), product_id=key[0], language=key[1]) for n, key in enumerate(keys)]
    found = [
        [[row.comment for row in batch] for batch in chain] for chain in chains(map(loaded, rows))
    ]
    assert sorted(one for chain in found for batch in chain for one in batch) == sorted(rows)
    products = [{one.product_id for batch in chain for one in batch} for chain in found]
    assert sum(map(len, products)) == len({one.product_id for one in rows})
    for batch in (batch for chain in found for batch in chain):
        changes = [CommentChange(None, COMMENT.encode(one)) for one in batch]
        assert len(list(transactions(changes, (), Maintenance()))) == 1
    assert sum(map(len, found)) <= len(rows) / 40 + 2  # the transactions are almost full


async def test_rows_that_are_stored_already_are_not_written(each_table: Table) -> None:
    await load_rows(Stores(each_table).comments, ROWS)
    watch = Watch(each_table)
    assert await watch.bulk.put(ROWS) == Outcome(unchanged=len(ROWS))
    assert watch.writes == []
    await recount.check(each_table, "42")


async def test_rows_are_read_before_the_write_while_some_of_them_exist(each_table: Table) -> None:
    """New comments are written without a read.

    After the first existing comment, every batch is read first.
    """
    reads = calls_of(each_table)
    watch = Watch(each_table)
    await watch.bulk.put(ROWS[:200])
    assert reads.operations["BatchGetItem"] == 1 < len(watch.writes)
    watch.writes.clear()
    mixed = [*ROWS, *CHANGED]
    assert await watch.bulk.put(mixed) == Outcome(60, len(CHANGED[:67]), 133)
    assert set(await recount.check(each_table, "42")) == by_id(ROWS, CHANGED)


async def test_rows_whose_write_failed_without_a_read_are_read_then(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(table)
    new = oracle.make_comments("43", 2, seed=7)
    await watch.bulk.put(new[:1])
    await load_rows(watch._beside, ROWS[:3])
    watch.writes.clear()
    sleep, slept = asyncio.sleep, 0

    async def others_write(seconds: float) -> None:
        nonlocal slept
        slept += 1
        if slept == 1:  # during the pause before the retry
            await watch.bulk.put(new[1:])
        await sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", others_write)
    assert await watch.bulk.put(ROWS[:3]) == Outcome(unchanged=3)
    assert (slept, len(watch.writes)) == (1, 2)


@SECOND_IN_SOAK
async def test_a_row_with_a_new_product_is_counted_for_the_new_product(each_table: Table) -> None:
    store = Stores(each_table).comments
    await load_rows(store, ROWS)
    moved = [row._replace(product_id="43") for row in ROWS[:120]]
    await load_rows(store, moved)
    assert set(await recount.check(each_table, "42")) == set(ROWS[120:])
    assert set(await recount.check(each_table, "43")) == set(moved)


async def test_the_last_of_two_rows_with_one_id_is_stored(each_table: Table) -> None:
    later = [row._replace(rating=1, created_at=row.created_at + timedelta(1)) for row in ROWS[:50]]
    await load_rows(Stores(each_table).comments, [*ROWS[:60], *later])
    assert set(await recount.check(each_table, "42")) == by_id(ROWS[:60], later)


@SECOND_IN_SOAK
@pytest.mark.parametrize("at", [0, 1, 2])
async def test_an_interrupted_and_repeated_load_is_exact_at_any_time(
    each_table: Table, at: int
) -> None:
    watch = Watch(each_table)
    watch.on[at] = client_error("AccessDeniedException")
    with pytest.raises(StoreRefusedError):
        await watch.bulk.put(ROWS)
    assert len(await recount.check(each_table, "42")) < len(ROWS)
    await watch.bulk.put(ROWS)
    assert set(await recount.check(each_table, "42")) == set(ROWS)


@SECOND_IN_SOAK
async def test_a_cancelled_and_repeated_load_is_exact(each_table: Table) -> None:
    store = Stores(each_table).comments
    for seconds in (0.02, 0.05, 0.1):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(seconds):
                await load_rows(store, oracle.make_comments("42", 2_000, seed=6))
        await each_table.drain()  # wait until all sent writes have ended
        await recount.check(each_table, "42")
    await load_rows(store, ROWS)
    await recount.check(each_table, "42")


@SECOND_IN_SOAK
async def test_a_row_that_another_client_changes_meanwhile_is_overwritten(
    each_table: Table,
) -> None:
    watch = Watch(each_table)
    await watch.bulk.put(ROWS[:90])
    other = ROWS[6]._replace(rating=ROWS[6].rating % 5 + 1)
    watch.writes.clear()
    watch.on = {0: other, 1: other._replace(language="ja")}
    assert await watch.bulk.put(CHANGED[:10]) == Outcome(changed=10)
    assert len(watch.writes) == 3
    assert set(await recount.check(each_table, "42")) == by_id(ROWS[:90], [other], CHANGED[:10])


async def test_after_lost_responses_each_change_is_counted_once(each_table: Table) -> None:
    client = FaultyClient(each_table.service)
    store = Stores(Table(client, each_table.name)).comments
    client._faults = [lose_answer] * 6
    await load_rows(store, ROWS[:50])
    assert set(await recount.check(each_table, "42")) == set(ROWS[:50])


@SECOND_IN_SOAK
async def test_concurrent_calls_for_equal_and_for_different_rows_are_exact(
    each_table: Table,
) -> None:
    """Each of two clients makes two of the calls, as two processes do."""
    stores = Stores(each_table).comments, Stores(each_table).comments
    runs = [ROWS[:150], ROWS[100:], CHANGED, ROWS]
    await asyncio.gather(*(load_rows(stores[n % 2], run) for n, run in enumerate(runs)))
    stored = await recount.check(each_table, "42")
    assert {row.comment_id for row in stored} == {row.comment_id for row in ROWS}
    plain = {row._replace(updated_at=None) for row in stored}
    assert plain <= {row._replace(updated_at=None) for row in (*ROWS, *CHANGED)}


@SECOND_IN_SOAK
async def test_one_call_writes_rows_of_many_products(each_table: Table) -> None:
    rows = [row._replace(product_id=f"p{n % 70}") for n, row in enumerate(ROWS)]
    await load_rows(Stores(each_table).comments, rows)
    for number in range(0, 70, 7):
        stored = await recount.check(each_table, f"p{number}")
        assert len(stored) == len(ROWS[number::70])


async def test_rows_of_the_greatest_size_fit(each_table: Table) -> None:
    rows = [row._replace(text="\U0001f600" * 10_000) for row in ROWS[:120]]
    await load_rows(Stores(each_table).comments, rows)
    assert set(await recount.check(each_table, "42")) == set(rows)


async def test_an_empty_load_writes_nothing(table: Table) -> None:
    watch = Watch(table)
    await watch.bulk.put([])
    assert watch.client.calls == []


async def test_a_load_stays_below_its_write_units(table: Table, clock: Clock) -> None:
    rows = oracle.make_comments("42", 400, seed=6)
    await stays_below_its_units(table, clock, lambda stores: load_rows(stores.comments, rows))


@FEW
@SECOND_IN_SOAK
@given(history=histories, met=faults)
async def test_after_any_history_with_loads_counters_equal_a_recount(
    each_table: Table, history: list[list[Step]], met: list[Fault]
) -> None:
    await check_history(each_table, history, met, load_rows)
