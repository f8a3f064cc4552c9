"""A rebuild while users and operators write by all features."""

from dal.dynamodb.table import Table
from dal.maintenance.rebuild import rebuild
from dal.stores import Stores
from tests import recount
from tests.features.writes import ALL_WRITES
from tests.putting import put_comments
from tests.verifying import verify
from tests.writers import PRODUCTS, ROWS, Engine, Writers, ignore, spoil


async def test_counts_are_exact_after_a_rebuild_with_writes_of_all_features(
    each_table: Table,
) -> None:
    await put_comments(Stores(each_table).comments, ROWS)
    await spoil(each_table, 7)
    async with Writers(each_table, 7, kills=0.1, writes=ALL_WRITES) as writers:
        await rebuild(Table(Engine(each_table.service), each_table.name), writers.settle, ignore)
        await writers.until(writers.writes + 10)
    assert await verify(each_table, ignore) == []
    for product in PRODUCTS[:2]:
        await recount.check(each_table, product)
