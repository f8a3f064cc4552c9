"""Counting without transactions: whoever dies, lags or comes twice, each change counts once.

What is said of appliers and followers with transactions is tried here as well.
"""

import asyncio
import random
from typing import Any

import pytest

from dal.errors import StoreRefusedError
from dal.statistics.maintenance_mode import MaintenanceStore
from dal.table.client import Table
from dal.table.service import Service
from dal.table.streams import Streams
from stream.applier import Applier
from stream.checkpoints import Checkpoint, Checkpoints
from tests.engines import SECOND_IN_SOAK
from tests.fakes import Answer, client_error
from tests.stream.histories import check_all, made
from tests.stream.test_applier import (  # noqa: F401 - run here, too
    SHARD,
    applier,
    checkpoint,
    cut,
    records,
    test_a_finished_shard_takes_no_more,
    test_a_shard_without_records_finishes,
    test_changes_that_cancel_out_still_move_the_checkpoint,
    test_duplicates_and_replays_count_once,
    test_many_appliers_of_the_same_records_count_once,
    test_sequence_numbers_compare_as_numbers,
    test_skipping_never_goes_back,
)
from tests.stream.test_follower import (  # noqa: F401 - run here, too
    test_a_child_waits_for_the_parent_also_after_a_restart,
    test_two_followers_at_once_count_once,
)


class Killed(BaseException):
    """What ends an applier in the middle of a request."""


class Bare:
    """A service without transactions; its client dies before or after some request."""

    def __init__(self, service: Service) -> None:
        self._client = service
        self.endpoint_url = service.endpoint_url
        self.left: float = float("inf")
        self.done_before_death = False
        self.lost = 0.0
        """How often an answer is lost."""
        self._chance = random.Random(1)

    async def call(self, operation: str, arguments: dict[str, Any]) -> Answer:
        if operation == "transact_write_items":
            raise client_error("UnknownOperationException")
        self.left -= 1
        if self.left < 0 and not self.done_before_death:
            raise Killed
        answer = await self._client.call(operation, arguments)
        if self.left < 0:
            raise Killed
        if self._chance.random() < self.lost:
            raise client_error("InternalServerError", 500)
        return answer


def bare(table: Table) -> tuple[Table, Bare]:
    """Another client of a table, on an endpoint without transactions."""
    service = Bare(table._client)
    return Table(service, table.name, transactions=False), service


@pytest.fixture
async def table(table: Table) -> Table:
    return bare(table)[0]


@pytest.fixture
async def each_table(each_table: Table) -> Table:
    return bare(each_table)[0]


@SECOND_IN_SOAK
async def test_killed_at_any_request_it_is_done_to_its_end_by_the_next(
    streamed: Table, streams: Streams
) -> None:
    found, chance, kills = (
        await records(streamed, streams, seed=60, length=120),
        random.Random(6),
        0,
    )
    held = Checkpoint(SHARD)
    for batch in cut(found, chance):
        while True:
            mortal, service = bare(streamed)
            service.left, service.done_before_death = chance.randint(1, 14), chance.random() < 0.5
            try:
                held = await applier(mortal).apply(held, batch)
                break
            except* Killed:
                kills += 1
    assert kills > 10
    assert await checkpoint(streamed) == held
    await check_all(streamed)


@SECOND_IN_SOAK
async def test_lost_answers_count_once(streamed: Table, streams: Streams) -> None:
    moody, service = bare(streamed)
    found, held = await records(streamed, streams, seed=61), Checkpoint(SHARD)
    service.lost = 0.2
    for batch in cut(found, random.Random(7)):
        held = await applier(moody).apply(held, batch)
    await check_all(streamed)


async def test_who_comes_late_with_a_batch_that_others_have_done_changes_nothing(
    table: Table,
) -> None:
    """An update that hangs in the network arrives when the counter is two batches further."""
    slow, service = bare(table)
    arrive, arrived, real = asyncio.Event(), asyncio.Event(), service.call

    async def late(operation: str, arguments: dict[str, Any]) -> Answer:
        if operation == "update_item":
            arrived.set()
            await arrive.wait()
        return await real(operation, arguments)

    service.call = late  # type: ignore[method-assign]
    straggler = asyncio.create_task(applier(slow).apply(Checkpoint(SHARD), [made(1, "42")]))
    await arrived.wait()
    held = await applier(table).apply(Checkpoint(SHARD), [made(1, "42"), made(2, "42")])
    held = await applier(table).apply(held, [made(3, "42")])
    arrive.set()
    await straggler
    assert await checkpoint(table) == held
    item = await table.get({"PK": {"S": "PRODUCT#42"}, "SK": {"S": "S#en"}})
    assert item is not None
    assert item["count_total"] == {"N": "3"}


async def test_a_stream_counts_where_an_update_of_the_one_before_came_late(table: Table) -> None:
    """The counter keeps a number of the old stream's, which the new stream's are above."""
    old = Applier(table, Checkpoints(table, "old"), MaintenanceStore(table))
    held = await old.apply(Checkpoint(SHARD), [made(1, "42")])
    await old.apply(held, [made(2, "42")])
    await asyncio.sleep(
        0.002
    )  # the numbers of a stream begin with the milliseconds of its first batch
    new = Applier(table, Checkpoints(table, "new"), MaintenanceStore(table))
    await new.apply(Checkpoint(SHARD), [made(3, "42")])
    item = await table.get({"PK": {"S": "PRODUCT#42"}, "SK": {"S": "S#en"}})
    assert item is not None
    assert item["count_total"] == {"N": "3"}


async def test_what_another_has_left_is_not_done_once_a_rebuild_runs(table: Table) -> None:
    mortal, service = bare(table)
    real = service.call

    async def dies(operation: str, arguments: dict[str, Any]) -> Answer:
        if operation == "update_item":
            raise Killed
        return await real(operation, arguments)

    service.call = dies  # type: ignore[method-assign]
    try:
        await applier(mortal).apply(Checkpoint(SHARD), [made(1, "42")])
    except* Killed:
        left = True
    store = MaintenanceStore(table)
    await store.announce(await store.read(), rebuilding=True)
    with pytest.raises(StoreRefusedError):
        await applier(table).apply(Checkpoint(SHARD), [made(1, "42"), made(2, "42")])
    assert left
    assert await table.get({"PK": {"S": "PRODUCT#42"}, "SK": {"S": "S#en"}}) is None


async def test_shards_of_one_product_leave_one_number_in_its_counter(table: Table) -> None:
    """Hundreds of them change it, on some services."""
    mine = Applier(table, Checkpoints(table, "s"), MaintenanceStore(table))
    shards = [f"shard-{number}" for number in range(30)]
    await asyncio.gather(
        *(mine.apply(Checkpoint(one), [made(n, "42")]) for n, one in enumerate(shards, 1))
    )
    item = await table.get({"PK": {"S": "PRODUCT#42"}, "SK": {"S": "S#en"}})
    assert item is not None
    assert item["count_total"] == {"N": "30"}
    assert len(item) < 13, "keys, place, counts and one number"
    reached = await Checkpoints(table, "s").read(shards)
    assert all(one.sequence for one in reached.values())
