"""The leaderboards after changes of counters, even after races and faults."""

import asyncio

import pytest

from dal.counts import deferred as module
from dal.counts.boards import Boards
from dal.counts.counter_items import encode, item_key
from dal.counts.counts import RatingCounts, StatisticsKey
from dal.dynamodb import retries
from dal.dynamodb.deadline import time_left
from dal.dynamodb.errors import ConditionFailedError
from dal.dynamodb.table import Table, TableAddress, connect
from dal.stores import Stores
from tests import oracle, recount
from tests.amazon import settle
from tests.fakes import (
    Answer,
    FaultyClient,
    Operation,
    anybody,
    client_error,
    let_pass,
    lose_answer,
    refuse,
)
from tests.putting import put_comments
from tests.strategies import comment
from tests.writers import PRODUCTS, Writers

FIVES = [row._replace(rating=5, language="en") for row in oracle.make_comments("42", 12, seed=4)]
WHOLE = StatisticsKey("42")
BUSY = client_error("ProvisionedThroughputExceededException")


def watched(table: Table) -> tuple[Table, FaultyClient]:
    client = FaultyClient(table.service)
    return Table(client, table.name), client


def asked(client: FaultyClient, operation: str) -> int:
    return sum(name == operation for name, _ in client.calls)


async def place(table: Table, key: StatisticsKey = WHOLE) -> str | None:
    item = await table.get(item_key(key)) or {}
    return item["GSISK"]["S"] if "GSISK" in item else None


async def settled(table: Table, product_id: str) -> None:
    """Assert that the statistics items equal those computed from the comments."""
    settle(table)  # A cancelled move may still run, and then the index may not show it yet.
    rows = await recount.comments_of(Stores(table).comments, product_id)
    assert await recount.stored(table, product_id) == recount.expected(product_id, rows)


async def test_only_a_product_whose_number_of_fives_changes_must_move(table: Table) -> None:
    store = Stores(table)
    await store.comments.add(comment("4", product_id="four", rating=4))
    await store.comments.add(comment("5", product_id="five", rating=5))
    await store.comments.update("4", {"text": "other"}, anybody)
    assert store.boards.pending == {"five"}
    await store.boards.finish()
    assert store.boards.pending == frozenset()
    await store.comments.update("5", {"rating": 3}, anybody)
    await store.comments.update("4", {"rating": 5}, anybody)
    assert store.boards.pending == {"five", "four"}


async def test_many_changes_of_a_product_are_one_move(each_table: Table) -> None:
    table, client = watched(each_table)
    store = Stores(table)
    for row in FIVES:
        await store.comments.add(row)
    assert asked(client, "update_item") == 0
    assert await place(each_table) is None
    await store.boards.finish()
    assert await place(each_table) == "000000000012#42"
    await settled(each_table, "42")
    assert asked(client, "update_item") == 2, "on two boards"
    assert asked(client, "query") == 2, "and a look at what was done"


async def test_after_writes_and_moves_of_two_processes_every_rank_is_correct(
    each_table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WORK_SECONDS", 0.01)
    async with Writers(each_table, seed=3) as writers:
        for store in writers.stores:
            store.boards.start()
        await writers.until(60)
    for store in writers.stores:
        await store.boards.finish()
    assert sum(store.boards.moved for store in writers.stores) > 2
    for product in PRODUCTS[:2]:
        await settled(each_table, product)


async def test_a_late_move_by_outdated_counts_reads_the_counts_again(table: Table) -> None:
    """A comment rated 5 is added and deleted. The process that read the older counts moves last."""
    store = Stores(table)
    await put_comments(store.comments, FIVES[:3])
    await store.boards.finish()

    async def others_delete(real: Operation, arguments: Answer) -> Answer:
        other = Stores(table)
        await other.comments.delete(FIVES[3].comment_id, anybody)
        await other.boards.finish()
        assert other.boards.moved == 0, "the product is where it belongs"
        return await real(**arguments)

    late, client = watched(table)
    mover = Stores(late)
    await mover.comments.add(FIVES[3])
    client._faults = [let_pass, others_delete]
    await mover.boards.finish()
    assert mover.boards.moved > 1
    await settled(table, "42")


async def test_after_a_lost_response_the_rank_is_correct(each_table: Table) -> None:
    table, client = watched(each_table)
    store = Stores(table)
    await store.comments.add(FIVES[0])
    client._faults = [let_pass, lose_answer, lose_answer]
    await store.boards.finish()
    await settled(each_table, "42")


async def test_a_read_corrects_the_ranks_that_a_killed_process_left(each_table: Table) -> None:
    await put_comments(Stores(each_table).comments, FIVES)
    reader = Stores(each_table)
    await reader.statistics.read("42", consistent=False)
    assert reader.boards.pending == {"42"}
    await reader.boards.finish()
    await settled(each_table, "42")
    await reader.statistics.read("42", consistent=False)
    assert reader.boards.pending == frozenset()


async def test_a_product_without_fives_leaves_the_boards(each_table: Table) -> None:
    keys = [WHOLE, WHOLE._replace(language="en")]
    await each_table.put_many([encode(key, RatingCounts((0, 0, 0, 0, 2))) for key in keys])
    await each_table.put_many([encode(keys[1], RatingCounts()) | {"GSISK": {"S": "x"}}])
    await Boards(each_table).correct(["42"])
    assert [await place(each_table, key) for key in keys] == [None, None]


async def test_a_move_that_failed_is_repeated_later(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WORK_SECONDS", 0.01)
    busy, client = watched(table)
    store = Stores(busy)
    await store.comments.add(FIVES[0])
    client._faults = [refuse(BUSY)] * 1000
    with monkeypatch.context() as patch:
        patch.setattr(retries, "DEADLINE", 0.05)
        await store.boards.finish()
    assert store.boards.pending == {"42"}
    before = asked(client, "query")
    store.boards.start()
    await until(lambda: asked(client, "query") > before)
    client._faults.clear()
    await until(lambda: not store.boards.pending and store.boards.moved == 2)
    await store.boards.finish()
    await settled(table, "42")


async def test_the_next_read_repeats_a_refused_move(table: Table) -> None:
    refusing, client = watched(table)
    store = Stores(refusing)
    await store.comments.add(FIVES[0])
    client._faults = [let_pass, refuse(client_error("AccessDeniedException"))]
    await store.boards.finish()
    assert store.boards.pending == frozenset()
    await store.statistics.read("42", consistent=True)
    assert store.boards.pending == {"42"}


async def test_a_failed_move_does_not_stop_other_moves(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_AT_ONCE", 2)
    refusing, client = watched(table)
    store = Stores(refusing)
    for product in "abc":
        await store.comments.add(comment(product, product_id=product, rating=5))
    client._faults = [refuse(client_error("AccessDeniedException"))]
    await store.boards.finish()
    assert store.boards.pending == {"b", "c"}
    assert store.boards.moved == 4
    assert refusing.unfinished == set()


async def test_moves_stop_when_a_whole_batch_fails(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_AT_ONCE", 2)
    monkeypatch.setattr(module, "ONE_SECONDS", 0.1)
    away, client = watched(table)
    store = Stores(away)
    for product in "abcdef":
        await store.comments.add(comment(product, product_id=product, rating=5))
    client._faults = [refuse(BUSY)] * 1000
    await store.boards.finish()
    assert store.boards.pending == {*"abcdef"}
    client._faults.clear()
    assert client.calls[-1][1]["ExpressionAttributeValues"][":p"]["S"] in {"PRODUCT#a", "PRODUCT#b"}


async def test_a_cancelled_move_stays_pending(table: Table) -> None:
    reached = asyncio.Event()

    async def hang(real: Operation, arguments: Answer) -> Answer:
        reached.set()
        await asyncio.Event().wait()
        return {}

    hanging, client = watched(table)
    store = Stores(hanging)
    await store.comments.add(FIVES[0])
    client._faults = [hang]
    finishing = asyncio.create_task(store.boards.finish())
    await reached.wait()
    finishing.cancel()
    await asyncio.wait([finishing])
    assert store.boards.pending == {"42"}
    await store.boards.finish()
    await settled(table, "42")


async def test_a_process_moves_a_limited_number_of_products_at_a_time(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other products wait, which limits the load of the index's partition."""
    monkeypatch.setattr(module, "WORK_SECONDS", 0)
    monkeypatch.setattr(module, "MOST_AT_ONCE", 3)
    boards, rounds = Boards(table), list[int]()
    work = boards._work_on_all

    async def noted(products: list[str]) -> int:
        failed = await work(products)
        rounds.append(
            len(products)
        )  # after the write: otherwise `finish` cancels the last move and moves the products again
        return failed

    monkeypatch.setattr(boards, "_work_on_all", noted)
    changes = {StatisticsKey(f"p{n}", "en"): RatingCounts((0, 0, 0, 0, 1)) for n in range(8)}
    boards.counted(changes)
    boards.start()
    await until(lambda: sum(rounds) == 8)
    await boards.finish()
    assert rounds == [3, 3, 2]


async def test_a_client_moves_the_products_that_it_changed_before_it_closes(
    table: Table, dynoxide_url: str
) -> None:
    async with connect(TableAddress(table.name, dynoxide_url, embedded=True)) as opened:
        await put_comments(Stores(opened).comments, FIVES)
    await settled(table, "42")


@pytest.mark.parametrize("strange", [{"count_5": {"S": "x"}}, {"SK": {"S": "S#%FF"}}], ids=str)
async def test_items_of_other_programs_do_not_prevent_moves(
    table: Table, strange: dict[str, object]
) -> None:
    await put_comments(Stores(table).comments, FIVES)
    await table.put_many([item_key(WHOLE._replace(language="xx")) | strange])
    boards = Boards(table)
    await boards.correct(["42"])
    assert await place(table) == "000000000012#42"


async def until(holds: object, seconds: float = 60.0) -> None:
    """Wait until the condition is true."""
    assert callable(holds)
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - whatever it is, no event says so
            await asyncio.sleep(0.01)


def test_a_failed_condition_of_a_move_is_not_an_error() -> None:
    assert isinstance(client_error("ConditionalCheckFailedException"), ConditionFailedError)


async def test_a_move_by_older_counts_does_not_replace_a_newer_place(table: Table) -> None:
    english = StatisticsKey("42", "en")
    await table.put_many([encode(english, RatingCounts((0, 0, 0, 0, 1)))])

    async def overtaken(real: Operation, arguments: Answer) -> Answer:
        await table.put_many([encode(english, RatingCounts((0, 0, 0, 0, 2)))])
        await Boards(table).correct(["42"])
        return await real(**arguments)

    client = FaultyClient(table.service, let_pass, overtaken)
    await Boards(Table(client, table.name)).move("42")
    assert client.calls[0][1]["ConsistentRead"] is True
    assert await place(table) == "000000000002#42"


async def test_a_negative_count_of_one_language_does_not_reduce_the_sum(table: Table) -> None:
    counts = {"de": -1, "en": 5}
    await table.put_many(
        [
            encode(StatisticsKey("42", language), RatingCounts((0, 0, 0, 0, fives)))
            for language, fives in counts.items()
        ]
    )
    await Boards(table).correct(["42"])
    assert await place(table) == "000000000005#42"


class Work(module.DeferredWork):
    """Work that fails for the object ``bad`` once, with an unforeseen error."""

    undone, repaired_by = "Some work failed", "the next one"

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.failed, self.done = 0, asyncio.Event()
        self.left: list[float | None] = []

    async def work(self, name: str) -> bool:
        self.left.append(time_left())
        if name == "bad" and not self.failed:
            self.failed += 1
            raise ValueError
        if self.failed:
            self.done.set()
        return False


async def test_an_unforeseen_error_does_not_stop_later_work(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WORK_SECONDS", 0.0)
    work = Work(table)
    work.start()
    work.note("bad")
    async with asyncio.timeout(60):
        await work.done.wait()
    await work.finish()
    assert work.failed == 1
    assert work.pending == frozenset()
    assert all(left is not None and left <= module.ONE_SECONDS for left in work.left)


async def test_the_end_of_a_process_does_not_wait_for_a_store_without_answers(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(real: Operation, arguments: Answer) -> Answer:
        return await asyncio.Future()

    monkeypatch.setattr(retries, "DEADLINE", 3_600.0)
    monkeypatch.setattr(module, "ONE_SECONDS", 0.01)
    boards = Boards(Table(FaultyClient(table.service, hang), table.name))
    boards.note("42")
    async with asyncio.timeout(60):
        await boards.finish()
    assert boards.pending == {"42"}
