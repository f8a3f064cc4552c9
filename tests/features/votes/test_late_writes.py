"""A delayed first attempt at counting votes changes nothing."""

from dal.counts.mode import MaintenanceMode
from dal.dynamodb.table import Table
from dal.stores import Stores
from tests.integration.test_late_writes import filled, stored
from tests.proxy import LateNetwork, through_proxy


async def test_a_delayed_fold_changes_nothing(table: Table) -> None:
    await filled(table, MaintenanceMode.TRANSACTIONAL)
    network = LateNetwork()
    async with through_proxy(table) as (beyond, proxy):
        stores = Stores(beyond)
        await stores.votes.mark("one", "eve")
        proxy.choose = network.choose
        await stores.folds.finish()
        proxy.pass_all()
        await stores.votes.mark("one", "eve", helpful=False)
        await stores.folds.finish()
        before = await stored(table)
        assert await network.deliver() > 0
        assert await stored(table) == before
