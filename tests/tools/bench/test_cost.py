"""The comparison of plans, on data small enough for a test."""

from dal.client.table import Table
from dal.stores import Stores
from tests import oracle
from tools.bench.cost import compare, selections


async def test_every_way_reads_the_same_rows_and_foresight_is_a_lower_bound(table: Table) -> None:
    rows = oracle.make_comments("42", 150, seed=4)
    store = Stores(table)
    await store.comments.put_many(rows)
    compared = await compare(table, store, rows, selections(["42"], "en"))
    assert compared.differing == 0
    ways = (compared.ideal, compared.foreseen, compared.planned, compared.counted, compared.seeds)
    assert {way.rows for way in ways} == {compared.seeds.rows}
    spent = [way.capacity for way in ways]
    assert spent == sorted(spent)
    assert spent[1] < spent[2] < spent[3] < spent[4]
    assert compared.ideal.items_read == compared.ideal.rows
