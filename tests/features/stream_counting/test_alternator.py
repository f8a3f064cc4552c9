"""Counting on an endpoint that has no transactions."""

import pytest

from dal.counts.mode import MaintenanceStore
from dal.dynamodb.errors import NoTransactionsError
from dal.dynamodb.table import Table, TableAddress
from features.stream_counting.follower import follow
from features.stream_counting.rebuild import rebuild
from features.stream_counting.streams import connect_streams, stream_of
from tests.dal.test_alternator import address, each_table, endpoint
from tests.writers import at_once, ignore

__all__ = ["address", "each_table", "endpoint"]


async def test_a_rebuild_and_a_follower_are_refused_before_they_change_anything(
    each_table: Table, address: TableAddress
) -> None:
    before = await MaintenanceStore(each_table).read()
    async with connect_streams(address) as streams:
        for refused in (
            rebuild(MaintenanceStore(each_table), streams, at_once, ignore),
            follow(each_table, streams),
        ):
            with pytest.raises(NoTransactionsError):
                await refused
    assert await MaintenanceStore(each_table).read() == before
    assert await stream_of(each_table) is None
