"""In maintenance mode stream, a write changes one item, without a transaction or a wait."""

import asyncio

import pytest

from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb.account import Account
from dal.dynamodb.errors import InvalidRequestError
from dal.dynamodb.table import Table
from dal.repositories.comments import CommentRepository
from dal.stores import Stores
from tests import oracle, recount
from tests.calls import calls_of
from tests.dal.repositories.test_observer import Recorder
from tests.edges import edge_of
from tests.fakes import Answer, FaultyClient, Operation, anybody, let_pass
from tests.putting import put_comments

ROWS = oracle.make_comments("42", 120, seed=11)


@pytest.fixture
async def streamed(each_table: Table) -> Table:
    return await in_stream_mode(each_table)


async def in_stream_mode(table: Table) -> Table:
    store = MaintenanceStore(table)
    await store.announce(await store.read(), mode=MaintenanceMode.STREAM, complete=False)
    return table


def watched(table: Table) -> tuple[CommentRepository, FaultyClient]:
    client = FaultyClient(table.service)
    return Stores(Table(client, table.name)).comments, client


async def test_in_stream_mode_no_write_of_comments_is_a_transaction(streamed: Table) -> None:
    calls = calls_of(streamed)
    store = Stores(streamed).comments
    edges = await asyncio.gather(*(store.add(row, row.comment_id) for row in ROWS[:20]))
    await store.update(edge_of(edges[0]).node.comment_id, {"rating": 1}, anybody)
    await store.delete(edge_of(edges[1]).node.comment_id, anybody)
    await store.delete(edge_of(await store.add(ROWS[30])).node.comment_id, anybody)
    await put_comments(store, ROWS[40:])
    assert "TransactWriteItems" not in calls.operations
    assert calls.operations["PutItem"] == 20 + 1 + 1 + 2 + 80


async def test_in_stream_mode_an_add_costs_only_its_rows(table: Table) -> None:
    store = Stores(await in_stream_mode(table)).comments
    with Account() as account:
        await store.add(ROWS[0]._replace(text="short"), "key")
    assert account.wcu == 6, "the comment, and its rows of five indexes"


async def test_a_slow_write_does_not_delay_other_writes_on_its_product(table: Table) -> None:
    await in_stream_mode(table)
    store, client = watched(table)
    reached, release = asyncio.Event(), asyncio.Event()

    async def hang(real: Operation, arguments: Answer) -> Answer:
        reached.set()
        await release.wait()
        return await real(**arguments)

    client._faults = [hang]
    hanging = asyncio.create_task(store.add(ROWS[0]))
    await reached.wait()
    await asyncio.gather(*map(store.add, ROWS[1:5]))
    assert not hanging.done()
    release.set()
    await hanging
    assert len(await recount.comments_of(store, "42")) == 5


@pytest.mark.parametrize("mode", MaintenanceMode)
async def test_observers_receive_the_writes_of_a_comment_in_order(
    table: Table, mode: MaintenanceMode
) -> None:
    """The order is right even if the response to the first write is late."""
    if mode is MaintenanceMode.STREAM:
        await in_stream_mode(table)
    recorder = Recorder()
    client = FaultyClient(table.service)
    await Stores(table).comments.add(ROWS[0])
    store = Stores(Table(client, table.name), [recorder]).comments
    written = asyncio.Event()

    async def answer_late(real: Operation, arguments: Answer) -> Answer:
        answer = await real(**arguments)
        written.set()
        await asyncio.sleep(0.1)
        return answer

    client._faults = [let_pass, answer_late]
    first = asyncio.create_task(store.update(ROWS[0].comment_id, {"text": "first"}, anybody))
    await written.wait()
    await store.update(ROWS[0].comment_id, {"text": "second"}, anybody)
    await first
    texts = [new.text for _, new in recorder.changes if new is not None]
    assert texts == ["first", "second"]


async def test_a_refused_item_does_not_fail_other_items(table: Table) -> None:
    await in_stream_mode(table)
    store = Stores(table).comments
    huge = ROWS[3]._replace(text="x" * 450_000)
    ends = await asyncio.gather(
        *map(store.add, [*ROWS[:3], huge, *ROWS[4:9]]), return_exceptions=True
    )
    assert isinstance(ends[3], InvalidRequestError)
    assert len(await recount.comments_of(store, "42")) == 8


async def test_a_process_reads_the_mode_before_its_first_write(
    table: Table,
) -> None:
    await in_stream_mode(table)
    calls = calls_of(table)
    store = Stores(table).comments
    await asyncio.gather(*map(store.add, ROWS[:30]))
    assert "TransactWriteItems" not in calls.operations
    assert await recount.stored(table, "42") == {}
