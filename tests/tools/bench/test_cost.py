"""The comparison of plans' costs, on a small amount of data."""

from dal.dynamodb.table import Table
from dal.stores import Stores
from tests import oracle
from tests.putting import put_comments
from tools.bench.cost import compare, selections


async def test_all_plans_read_the_same_rows_and_foresight_is_a_lower_bound(table: Table) -> None:
    rows = oracle.make_comments("42", 150, seed=4)
    store = Stores(table)
    await put_comments(store.comments, rows)
    compared = await compare(table, store, rows, selections(["42"], "en"))
    assert compared.differing == 0
    tallies = compared.tallies.values()
    assert {way.rows for way in tallies} == {compared.tallies["ideal"].rows}
    articles, counts, planned, foreseen, ideal = (way.capacity for way in tallies)
    assert articles > counts > planned > foreseen >= ideal
    assert compared.tallies["ideal"].items_read == compared.tallies["ideal"].rows
