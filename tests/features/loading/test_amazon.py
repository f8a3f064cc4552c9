"""Loads with Amazon's throttling."""

import asyncio

from dal.dynamodb.table import Table
from dal.repositories.comments import Selection
from dal.stores import Stores
from tests import oracle, recount
from tests.amazon import Amazon
from tests.amazon.conftest import amazon
from tests.features.loading.bulk import load_rows
from tests.strategies import comment
from tests.verifying import verify
from tests.writers import ignore

__all__ = ["amazon"]


async def test_a_load_and_live_writes_to_throttled_partitions_lose_no_row(
    amazon: Amazon, table: Table
) -> None:
    """Pages are complete too, because the client sends throttled requests again."""
    amazon.throttle.wcu, amazon.throttle.rcu, amazon.throttle.wait = 30, 60, 0.5
    store = Stores(table).comments
    rows = oracle.make_comments("42", 90, seed=2)
    fresh = [comment(f"new-{number}", product_id="42") for number in range(12)]
    await asyncio.gather(load_rows(store, rows), *(store.add(one) for one in fresh))
    assert amazon.throttle.refused
    assert await verify(table, ignore) == []
    selection = Selection("42", frozenset({1, 3, 5}))
    shown = await oracle.walk(store, selection, 10, backward=False)
    assert shown == oracle.selected([*rows, *fresh], selection)
    assert len(await recount.check(table, "42")) == 102
