from dal.client.table import Table
from dal.repositories.markers import MarkerRepository


async def test_a_mark_is_remembered(table: Table) -> None:
    markers = MarkerRepository(table)
    assert not await markers.marked("demo")
    await markers.mark("demo")
    assert await MarkerRepository(table).marked("demo")
