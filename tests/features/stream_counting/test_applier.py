"""The applier on real streams: it counts repeated, late or split records once."""

import asyncio
import random
from collections.abc import Sequence

import pytest

from dal.dynamodb import retries
from dal.dynamodb.table import Table
from dal.table.errors import StoreRefusedError
from features.stream_counting.applier import Applier, Record, sequence_of
from features.stream_counting.checkpoints import Checkpoint, Checkpoints
from features.stream_counting.streams import Streams
from tests.engines import SECOND_IN_SOAK
from tests.fakes import Answer, FaultyClient, Operation, client_error, lose_answer, refuse
from tests.features.stream_counting.fakes import START
from tests.features.stream_counting.records import all_records, made
from tests.histories import check_all, history, write_raw

SHARD = "shard"


def applier(table: Table) -> Applier:
    return Applier(table, "s")


async def checkpoint(table: Table) -> Checkpoint:
    return (await Checkpoints(table, "s").read([SHARD]))[SHARD]


async def records(table: Table, streams: Streams, seed: int, length: int = 60) -> list[Record]:
    await write_raw(table, history(seed, length))
    _, found = await all_records(table, streams)
    return found


async def test_the_records_of_a_history_are_counted(streamed: Table, streams: Streams) -> None:
    found = await records(streamed, streams, seed=1, length=100)
    moved = await applier(streamed).apply(Checkpoint(SHARD), found)
    assert moved == await checkpoint(streamed)
    assert await check_all(streamed) > 10


@SECOND_IN_SOAK
@pytest.mark.parametrize("seed", range(3))
async def test_repeated_records_count_once(streamed: Table, streams: Streams, seed: int) -> None:
    """Each batch begins before the checkpoint. The caller's checkpoint is outdated."""
    found = await records(streamed, streams, seed=10 + seed)
    chance = random.Random(seed)
    held = [Checkpoint(SHARD)]
    reached = 0
    while reached < len(found):
        start = chance.randint(0, reached)
        end = min(len(found), start + chance.randint(1, 40))
        held.append(await applier(streamed).apply(chance.choice(held), found[start:end]))
        reached = max(reached, end)
    await check_all(streamed)


@SECOND_IN_SOAK
@pytest.mark.parametrize("at", [0, 1, 2])
async def test_a_refused_transaction_writes_nothing(
    streamed: Table, streams: Streams, at: int
) -> None:
    found = await records(streamed, streams, seed=20)
    faults = [*[let_pass] * at, refuse(client_error("AccessDeniedException"))]
    broken = Table(FaultyClient(streamed.service, *faults), streamed.name)
    with pytest.raises(StoreRefusedError):
        await one_by_one(applier(broken), found)
    held = await checkpoint(streamed)
    await applier(streamed).apply(held, found)
    await check_all(streamed)


@SECOND_IN_SOAK
async def test_after_lost_responses_and_conflicts_records_count_once(
    streamed: Table, streams: Streams
) -> None:
    found = await records(streamed, streams, seed=30)
    conflict = client_error("TransactionCanceledException", reasons=("TransactionConflict",))
    faults = [let_pass, lose_answer, let_pass, refuse(conflict), lose_answer, let_pass] * 20
    moody = applier(Table(FaultyClient(streamed.service, *faults), streamed.name))
    held = Checkpoint(SHARD)
    for start in range(0, len(found), 7):
        held = await moody.apply(held, found[start : start + 7])
    await check_all(streamed)


@SECOND_IN_SOAK
async def test_concurrent_appliers_of_the_same_records_count_once(
    streamed: Table, streams: Streams
) -> None:
    found = await records(streamed, streams, seed=40)

    async def run(seed: int) -> None:
        chance, mine, held = random.Random(seed), applier(streamed), Checkpoint(SHARD)
        for batch in cut(found, chance):
            held = await mine.apply(held, batch)

    await asyncio.gather(*map(run, range(4)))
    await check_all(streamed)


async def test_changes_that_cancel_each_other_out_still_move_the_checkpoint(
    streamed: Table, streams: Streams
) -> None:
    """Otherwise another applier, whose batch has only the first change, would count that change."""
    steps = list(history(50, 1))
    await write_raw(streamed, [*steps, type(steps[0])(steps[0].new, None)])
    _, found = await all_records(streamed, streams)
    ahead = await applier(streamed).apply(Checkpoint(SHARD), found)
    assert ahead.sequence == sequence_of(found[-1])
    await applier(streamed).apply(Checkpoint(SHARD), found[:1])
    assert await check_all(streamed) == 0


async def test_a_transaction_has_at_most_100_actions(table: Table) -> None:
    client = FaultyClient(table.service)
    found = [made(number, f"p{number}") for number in range(1, 301)]
    await applier(Table(client, table.name)).apply(Checkpoint(SHARD), found)
    sizes = [len(call[1]["TransactItems"]) for call in client.calls if "TransactItems" in call[1]]
    assert len(sizes) == 4  # 300 counters, and a checkpoint in each transaction
    assert max(sizes) == 100


async def test_sequence_numbers_compare_as_numbers(table: Table) -> None:
    held = await applier(table).apply(Checkpoint(SHARD), [made(n, "42") for n in (8, 9, 10)])
    assert held == Checkpoint(SHARD, "10")
    await applier(table).apply(held, [made(n, "42") for n in (9, 10, 11)])
    await applier(table).apply(Checkpoint(SHARD), [made(n, "42") for n in (9, 10, 11, 12)])
    item = await table.get({"PK": {"S": "PRODUCT#42"}, "SK": {"S": "S#en"}})
    assert item is not None
    assert item["count_total"] == {"N": "5"}


async def test_items_that_are_not_comments_change_nothing(table: Table) -> None:
    strange = made(1, "42")
    del strange["dynamodb"]["NewImage"]["data"]
    other = made(2, "42")
    other["dynamodb"]["Keys"]["PK"] = {"S": "ORDER#1"}
    held = await applier(table).apply(Checkpoint(SHARD), [strange, other])
    assert held == Checkpoint(SHARD)
    assert await checkpoint(table) == held


async def test_a_finished_shard_accepts_no_records(table: Table) -> None:
    mine = applier(table)
    held = await mine.apply(Checkpoint(SHARD), [made(1, "42")])
    assert await mine.finish(held) == await checkpoint(table) == Checkpoint(SHARD, "1", done=True)
    assert await mine.finish(held) == Checkpoint(SHARD, "1", done=True)
    assert (await mine.apply(held, [made(2, "42")])).done
    item = await table.get({"PK": {"S": "PRODUCT#42"}, "SK": {"S": "S#en"}})
    assert item is not None
    assert item["count_total"] == {"N": "1"}


async def test_a_shard_without_records_finishes(table: Table) -> None:
    done = await applier(table).finish(Checkpoint(SHARD))
    assert done == await checkpoint(table) == Checkpoint(SHARD, None, done=True)


async def test_a_shard_that_a_recount_has_not_read_begins_at_its_first_record(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recount stores no checkpoint for this shard. The applier stores the first one."""
    monkeypatch.setattr(retries, "DEADLINE", 1.0)
    await Checkpoints(table, "s").begin([Checkpoint(SHARD), Checkpoint("other", "3")], START)
    assert (await Checkpoints(table, "s").read(["other"]))["other"].sequence == "3"
    moved = await applier(table).apply(Checkpoint(SHARD), [made(1, "42")])
    assert moved == await checkpoint(table) == Checkpoint(SHARD, "1")


async def test_skipping_records_never_moves_the_checkpoint_back(table: Table) -> None:
    mine = applier(table)
    held = await mine.skip(Checkpoint(SHARD), "12")
    assert held == await mine.skip(Checkpoint(SHARD), "9") == await checkpoint(table)


async def one_by_one(mine: Applier, found: Sequence[Record]) -> None:
    held = Checkpoint(SHARD)
    for record in found:
        held = await mine.apply(held, [record])


def cut(found: Sequence[Record], chance: random.Random) -> list[Sequence[Record]]:
    """Cut records into batches of random sizes."""
    batches, start = [], 0
    while start < len(found):
        size = chance.randint(1, 30)
        batches.append(found[start : start + size])
        start += size
    return batches


async def let_pass(real: Operation, arguments: Answer) -> Answer:
    return await real(**arguments)
