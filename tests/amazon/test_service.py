"""Writes and a rebuild during lag, throttling and expiring credentials."""

import pytest

from dal.counts.mode import MaintenanceStore
from dal.dynamodb.table import Table
from dal.maintenance.rebuild import rebuild as rebuild_transactional
from dal.stores import Stores
from tests import oracle, recount
from tests.amazon import Amazon, settle
from tests.putting import put_comments
from tests.verifying import verify
from tests.writers import ROWS, Writers, ignore, spoil


@pytest.fixture
def amazon(table: Table) -> Amazon:
    """The fake service of this test's table."""
    service = Amazon.documented(table.service)
    service.expiry.calls = 150
    service.throttle.wcu, service.throttle.rcu, service.throttle.wait = 40, 120, 0.5
    service.clock.pace, service.clock.tick = 0.0, 0.002
    table.service = service
    return service


async def walks_are_exact(table: Table, product: str) -> int:
    """Compare walks of some filters with the table's comments. Return the number of comments."""
    store = Stores(table).comments
    rows = await recount.comments_of(store, product)
    for selection in list(oracle.selections(product))[::29]:
        shown = await oracle.walk(store, selection, 7, backward=False)
        assert shown == oracle.selected(rows, selection)
    return len(rows)


async def test_transactional_mode_is_exact_during_writes_and_a_rebuild(
    table: Table, amazon: Amazon
) -> None:
    await put_comments(Stores(table).comments, [row for n, row in enumerate(ROWS) if n % 9])
    await spoil(table, 2)
    async with Writers(table, 2) as writers:
        await writers.until(5)
        await rebuild_transactional(table, writers.settle, ignore)
        await writers.until(writers.writes + 5)
    assert await verify(table, ignore) == []
    assert (await MaintenanceStore(table).read()).exact
    settle(table)
    assert await walks_are_exact(table, "42") > 10
    assert amazon.expiry.refused
    assert amazon.throttle.refused
