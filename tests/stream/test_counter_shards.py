"""Counters over shards in mode stream: the follower and Lambda, and a change of the number."""

import random

import pytest

from dal.repositories.reshard import reshard_counters
from dal.statistics.counter_items import SORT_KEYS, decode, encode, partition_of
from dal.statistics.counter_shards import CounterShards
from dal.statistics.counts import RatingCounts, StatisticsKey
from dal.statistics.maintenance_mode import MaintenanceStore
from dal.statistics.verify import verify
from dal.table.client import Table
from dal.table.index import TABLE
from dal.table.requests import QueryRequest
from dal.table.streams import Streams
from stream.lambda_handler import apply
from stream.rebuild import rebuild
from tests.engines import SECOND_IN_SOAK
from tests.stream.histories import PRODUCTS, all_records, catch_up, check_all, history, write_raw
from tests.stream.test_applier import cut
from tests.stream.test_lambda_handler import delivered
from tests.writers import at_once, ignore


async def shards_of(table: Table) -> set[int]:
    found = set[int]()
    for product in PRODUCTS:
        answer = await table.query(QueryRequest(TABLE, partition_of(product), SORT_KEYS))
        found |= {shard for one in answer.items if (shard := decode(one)[0].shard) is not None}
    return found


async def spread(table: Table, shards: int) -> None:
    store = MaintenanceStore(table)
    await store.announce(await store.read(), counters=CounterShards(shards))


@pytest.mark.parametrize("shards", [1, 4, 16])
@SECOND_IN_SOAK
async def test_lambda_counts_once_over_shards(
    streamed: Table, streams: Streams, shards: int
) -> None:
    """Also where it is called anew, and draws others."""
    await spread(streamed, shards)
    await write_raw(streamed, history(4, 100))
    found = delivered((await all_records(streamed, streams))[1])
    chance = random.Random(4)
    for batch in [*cut(found, chance), *cut(found, chance)]:
        await apply(streamed, [*batch, *batch[:3]])
    assert await check_all(streamed) > 10
    assert (await shards_of(streamed) != set()) == (shards > 1)


@SECOND_IN_SOAK
async def test_a_follower_is_exact_through_every_change_of_the_number(
    streamed: Table, streams: Streams
) -> None:
    steps = history(5, 1_000)

    async def write_and_follow() -> None:
        await write_raw(streamed, [next(steps) for _ in range(8)])
        await catch_up(streamed, streams)
        await check_all(streamed)

    await write_and_follow()
    for shards in (16, 1):
        assert await reshard_counters(streamed, shards, write_and_follow)
    await write_and_follow()
    assert await verify(streamed, ignore) == []
    assert await shards_of(streamed)


@SECOND_IN_SOAK
async def test_a_rebuild_counts_what_is_in_shards_once(each_table: Table, streams: Streams) -> None:
    await spread(each_table, 4)
    await write_raw(each_table, history(6, 20))
    for product in PRODUCTS:
        for shard in (None, 2, 9):
            key = StatisticsKey(product, "en", shard=shard)
            await each_table.put_many([encode(key, RatingCounts((0, 3, 0, 0, 1)))])
    await rebuild(each_table, streams, at_once, ignore)
    assert await verify(each_table, ignore) == []
    await check_all(each_table)
