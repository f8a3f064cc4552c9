"""Concurrent writes to one product share transactions. A failed write does not fail the others."""

import asyncio
from collections.abc import Sequence

import pytest

from dal.counts.counter_items import item_key
from dal.counts.counts import StatisticsKey
from dal.dynamodb import retries
from dal.dynamodb.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidRequestError,
    StoreUnavailableError,
)
from dal.dynamodb.table import Table
from dal.model import Comment
from dal.repositories.comments import CommentRepository
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from tests import oracle, recount
from tests.edges import edge_of
from tests.fakes import (
    Answer,
    Fault,
    FaultyClient,
    Operation,
    anybody,
    client_error,
    let_pass,
    lose_answer,
    refuse,
)
from tests.putting import put_comments

ROWS = [row._replace(rating=5) for row in oracle.make_comments("42", 32, seed=4)]


async def watched(table: Table, *faults: Fault) -> tuple[CommentRepository, FaultyClient]:
    """Return a repository that has read the maintenance mode before its first write."""
    client = FaultyClient(table.service, *faults)
    store = Stores(Table(client, table.name)).comments
    await store.counted()
    return store, client


def transactions(client: FaultyClient) -> list[int]:
    """Return the number of actions of each transaction."""
    return [
        len(arguments["TransactItems"])
        for operation, arguments in client.calls
        if operation == "transact_write_items"
    ]


async def test_waiting_writes_of_one_product_share_a_transaction(each_table: Table) -> None:
    store, client = await watched(each_table)
    await asyncio.gather(*map(store.add, ROWS))
    assert len(await recount.check(each_table, "42")) == 32
    assert len(transactions(client)) == 2, "the first, and all that came meanwhile"


async def test_a_group_of_writes_leaves_space_for_the_counters_of_a_rebuild(table: Table) -> None:
    rows = oracle.make_comments("42", 150, seed=4)
    store, client = await watched(table)
    await asyncio.gather(*map(store.add, rows))
    assert len(await recount.check(table, "42")) == 150
    assert len(transactions(client)) == 3
    kept = len({row.language for row in rows})
    assert max(transactions(client)) == 100 - kept


async def test_different_products_do_not_wait_for_each_other(table: Table) -> None:
    rows = [row._replace(product_id=f"p{n}", comment_id=f"c{n}") for n, row in enumerate(ROWS)]
    store, client = await watched(table)
    await asyncio.gather(*map(store.add, rows))
    assert transactions(client) == [2] * len(rows)


async def together(table: Table, rows: Sequence[Comment]) -> tuple[Sequence[object], list[int]]:
    """Add rows concurrently. Return the result of each, and the sizes of the transactions.

    The repository writes the first row alone, and the others together if they have one language.
    """
    store, client = await watched(table)
    ends = await asyncio.gather(*map(store.add, rows), return_exceptions=True)
    return ends, transactions(client)


SAME_LANGUAGE = [row._replace(language="en") for row in oracle.make_comments("42", 93, seed=9)]


async def test_a_failed_add_costs_its_group_one_further_transaction(each_table: Table) -> None:
    rows = SAME_LANGUAGE
    await Stores(each_table).comments.add(rows[50])
    taken = rows[50]._replace(text="another")
    ends, sizes = await together(each_table, [*rows[:50], taken, *rows[51:]])
    assert [n for n, end in enumerate(ends) if isinstance(end, Exception)] == [50]
    assert isinstance(ends[50], AlreadyExistsError)
    assert [size - 1 for size in sizes] == [1, 92, 91], "beside the counter of their language"
    assert set(await recount.check(each_table, "42")) == set(rows)


async def test_a_failed_write_without_an_index_is_found_by_halving_its_group(table: Table) -> None:
    rows = [*SAME_LANGUAGE]
    rows[50] = rows[50]._replace(text="x" * 450_000)
    ends, sizes = await together(table, rows)
    assert [n for n, end in enumerate(ends) if isinstance(end, Exception)] == [50]
    assert isinstance(ends[50], InvalidRequestError)
    assert len(sizes) <= 2 + 2 * 7, "2 to the power of 7 are more than 92"
    assert set(await recount.check(table, "42")) == {*rows} - {rows[50]}


async def test_a_permanent_refusal_is_not_repeated_for_each_write(table: Table) -> None:
    store, client = await watched(table, let_pass)
    client._faults += [refuse(client_error("AccessDeniedException"))] * 1000
    ends = await asyncio.gather(*map(store.add, SAME_LANGUAGE), return_exceptions=True)
    assert [type(end) for end in ends[1:]] == [StoreRefusedError] * (len(ends) - 1)
    assert len(transactions(client)) <= 2


async def test_two_concurrent_equal_adds_count_once(each_table: Table) -> None:
    store, _ = await watched(each_table)
    edges = await asyncio.gather(*(store.add(ROWS[0]) for _ in range(5)))
    assert {edge_of(one).node for one in edges} == {ROWS[0]}
    assert await recount.check(each_table, "42") == [ROWS[0]]


async def test_a_change_of_text_alone_touches_no_counter(table: Table) -> None:
    store, client = await watched(table)
    await store.add(ROWS[0])
    await store.update(ROWS[0].comment_id, {"text": "other"}, anybody)
    assert transactions(client) == [2], "the update is a put"
    await recount.check(table, "42")


class Gate:
    """A fault that delays an operation until the test opens the gate."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self, real: Operation, arguments: Answer) -> Answer:
        self.reached.set()
        await self.open.wait()
        return await real(**arguments)


async def test_a_client_that_disconnects_does_not_cancel_its_group(table: Table) -> None:
    """Neither the client whose request writes the group, nor a client that waits, may cancel it."""
    first, second = Gate(), Gate()
    store, _ = await watched(table, first, second)
    tasks = [asyncio.create_task(store.add(row)) for row in ROWS]
    await first.reached.wait()
    tasks[20].cancel()  # waits
    await asyncio.sleep(0)
    first.open.set()
    await second.reached.wait()
    tasks[1].cancel()  # writes the group
    tasks[9].cancel()  # waits in the group
    await asyncio.sleep(0)
    second.open.set()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    gone = {n for n, end in enumerate(ends) if isinstance(end, asyncio.CancelledError)}
    assert gone == {1, 9, 20}
    kept = await recount.check(table, "42")
    assert set(kept) == {row for n, row in enumerate(ROWS) if n != 20}


async def test_a_write_that_waits_too_long_fails_and_changes_nothing(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, client = await watched(table)
    async with store.writer.transactions._locks.hold(["42"], deadline=1):
        with monkeypatch.context() as patch:
            patch.setattr(retries, "DEADLINE", 0.1)
            with pytest.raises(ConflictError, match="try again"):
                await store.add(ROWS[0])
    assert not client.calls
    await store.add(ROWS[1])
    assert await recount.check(table, "42") == [ROWS[1]]


async def test_a_write_in_progress_at_its_deadline_returns_its_outcome(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "DEADLINE", 2)

    async def lengthen(real: Operation, arguments: Answer) -> Answer:
        """Let the next writes have more time than the writes that already wait."""
        monkeypatch.setattr(retries, "DEADLINE", 60)
        return await real(**arguments)

    async def take_time(real: Operation, arguments: Answer) -> Answer:
        await asyncio.sleep(2.1)
        return await real(**arguments)

    store, client = await watched(table, lengthen, take_time)
    await asyncio.gather(*map(store.add, ROWS[:5]))
    assert len(transactions(client)) == 2
    assert set(await recount.check(table, "42")) == set(ROWS[:5])


async def test_concurrent_changes_of_counters_do_not_conflict(each_table: Table) -> None:
    """Meanwhile another process adds a comment rated 5 between the read of the mode and
    the transaction.
    """

    async def others_add(real: Operation, arguments: Answer) -> Answer:
        await Stores(each_table).comments.add(ROWS[1])
        return await real(**arguments)

    store, client = await watched(each_table, others_add)
    await store.add(ROWS[0])
    assert len(transactions(client)) == 1
    assert set(await recount.check(each_table, "42")) == set(ROWS[:2])


async def test_conflicts_until_the_deadline_are_an_error(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    conflict = client_error("TransactionCanceledException", reasons=("TransactionConflict",))
    store, client = await watched(table, *[refuse(conflict)] * 1000)
    with monkeypatch.context() as patch:
        patch.setattr(retries, "DEADLINE", 1.0)
        with pytest.raises(ConflictError, match="try again"):
            await store.add(ROWS[0])
    assert len(transactions(client)) > 1
    assert await recount.check(table, "42") == []


@pytest.mark.parametrize("lost", [1, 3])
async def test_after_a_lost_response_the_write_counts_once(each_table: Table, lost: int) -> None:
    store, _ = await watched(each_table, *[lose_answer] * lost)
    first, again = await store.add(ROWS[0], "key"), await store.add(ROWS[0], "key")
    assert await recount.check(each_table, "42") == [edge_of(first).node]
    assert first == again


async def test_after_lost_responses_until_the_deadline_and_a_retry_the_write_counts_once(
    each_table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, client = await watched(each_table, *[lose_answer] * 1000)
    with monkeypatch.context() as patch:
        patch.setattr(retries, "DEADLINE", 0.3)
        ends = await asyncio.gather(
            *(store.add(row, f"key-{n}") for n, row in enumerate(ROWS[:4])), return_exceptions=True
        )
    assert isinstance(ends[0], StoreUnavailableError)
    client._faults.clear()
    await asyncio.gather(*store.writer.transactions._groups)
    again = [row._replace(comment_id=f"again-{n}") for n, row in enumerate(ROWS[:4])]
    await asyncio.gather(*(store.add(row, f"key-{n}") for n, row in enumerate(again)))
    assert len(await recount.check(each_table, "42")) == 4


async def test_after_a_lost_response_an_update_and_a_deletion_count_once(each_table: Table) -> None:
    await put_comments(Stores(each_table).comments, ROWS[:3])
    # An update and a deletion each read the comment, and write one transaction.
    store, _ = await watched(each_table, let_pass, lose_answer, lose_answer)
    await store.update(ROWS[0].comment_id, {"rating": 2, "language": "de"}, anybody)
    store, _ = await watched(each_table, let_pass, lose_answer, lose_answer)
    await store.delete(ROWS[1].comment_id, anybody)
    left = await recount.check(each_table, "42")
    assert {row.comment_id for row in left} == {ROWS[0].comment_id, ROWS[2].comment_id}


async def test_after_temporary_conflicts_the_write_counts_once(each_table: Table) -> None:
    conflict = client_error("TransactionCanceledException", reasons=("TransactionConflict",))
    store, client = await watched(each_table, refuse(conflict), refuse(conflict))
    await store.add(ROWS[0])
    assert len(transactions(client)) == 3
    assert await recount.check(each_table, "42") == [ROWS[0]]


async def test_a_product_moves_after_a_lost_response(table: Table) -> None:
    async def lost(real: Operation, arguments: Answer) -> Answer:
        await real(**arguments)
        raise client_error("AccessDeniedException")

    stores = Stores(Table(FaultyClient(table.service, lost), table.name))
    with pytest.raises(StoreRefusedError):
        await stores.comments.add(ROWS[0])
    assert stores.boards.pending == {"42"}


async def test_a_deletion_during_a_rebuild_leaves_a_counter_for_the_cutover(table: Table) -> None:
    """Otherwise the cutover would not correct the counts of an uncounted comment's language."""
    stores = Stores(table)
    await stores.comments.add(ROWS[0])
    state = await stores.maintenance.read()
    await stores.maintenance.announce(state, rebuilding=True, generation=1)
    await stores.comments.delete(ROWS[0].comment_id, anybody)
    assert await table.get(item_key(StatisticsKey("42", ROWS[0].language, 1))) is not None
