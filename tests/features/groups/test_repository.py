"""Groups of products: the details of a product always name the group that contains it."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb.table import Table
from dal.model import ProductDetails
from dal.stores import Stores
from dal.table.errors import InvalidArgumentError
from dal.writes.overwrite import Outcome
from features.groups.repository import MAX_MEMBERS
from tests.calls import calls_of
from tests.fakes import Answer, FaultyClient, Operation, let_pass
from tests.strategies import FEW

GROUPS = ("", "a/b", "c#d", "é")
PRODUCTS = [f"grouped {number}" for number in range(6)]


async def contents(stores: Stores) -> dict[str, tuple[str, ...]]:
    """Check each group against the details of its products. Return the members of each group."""
    details = await stores.products.details(PRODUCTS)
    groups = await stores.groups.get_many(GROUPS[1:])
    assert all(one.product_ids for one in groups.values())
    named = {one: details[one].group for one in details if details[one].group}
    listed = {one: name for name, group in groups.items() for one in group.product_ids}
    assert named == listed
    return {name: group.product_ids for name, group in groups.items()}


loads = st.dictionaries(
    st.sampled_from(PRODUCTS),
    st.builds(
        ProductDetails,
        title=st.sampled_from(["", "Mug"]),
        group=st.none() | st.sampled_from(GROUPS),
    ),
    max_size=6,
)


@FEW
@given(files=st.lists(loads, min_size=1, max_size=4))
async def test_products_join_change_and_leave_groups(
    table: Table, files: list[Mapping[str, ProductDetails]]
) -> None:
    stores = Stores(table)
    products = stores.products
    await products.put_many({one: ProductDetails(group="") for one in PRODUCTS})
    assert await contents(stores) == {}
    wanted: dict[str, str] = {}
    for file in files:
        await products.put_many(file)
        wanted |= {one: row.group for one, row in file.items() if row.group is not None}
        assert await contents(stores) == {
            group: tuple(one for one in PRODUCTS if wanted.get(one) == group)
            for group in {*wanted.values()} - {""}
        }


@FEW
@given(files=st.lists(loads, min_size=2, max_size=4))
async def test_after_concurrent_changes_of_groups_the_groups_and_the_details_agree(
    table: Table, files: list[Mapping[str, ProductDetails]]
) -> None:
    stores = Stores(table)
    products = stores.products
    await products.put_many({one: ProductDetails(group="c#d") for one in PRODUCTS})
    moves = [{one: replace(row, group=row.group or "é") for one, row in f.items()} for f in files]
    await asyncio.gather(*map(products.put_many, moves))
    await contents(stores)


async def test_loading_the_same_file_again_changes_nothing(each_table: Table) -> None:
    stores = Stores(each_table)
    products = stores.products
    file = {one: ProductDetails(title="Mug", group="mugs") for one in ("m1", "m2")}
    file["m3"] = ProductDetails(title="Jug")
    assert await products.put_many(file) == Outcome(new=3)
    calls = calls_of(each_table)
    assert await products.put_many(file) == Outcome(unchanged=3)
    kept = {one: replace(row, group=None) for one, row in file.items()}
    assert await products.put_many(kept) == Outcome(unchanged=3)
    assert calls.operations.keys() == {"BatchGetItem"}
    assert await products.update("m1", {"title": "Cup"}) == ProductDetails("Cup", group="mugs")


async def test_a_group_has_at_most_sixty_products(table: Table) -> None:
    stores = Stores(table)
    products = stores.products
    names = [f"full {number:02}" for number in range(MAX_MEMBERS)]
    await products.put_many({one: ProductDetails(group="full") for one in names})
    assert (await stores.groups.get_many(["full"]))["full"].product_ids == tuple(names)
    with pytest.raises(InvalidArgumentError, match="'full' would have 61 products"):
        await products.put_many({"another": ProductDetails(group="full")})
    # In one load, a product can leave a full group and another product can join it.
    swap = {"another": ProductDetails(group="full"), names[0]: ProductDetails(group="")}
    await products.put_many(swap)
    assert (await stores.groups.get_many(["full"]))["full"].product_ids == ("another", *names[1:])


async def test_a_group_that_a_product_joins_while_the_last_one_leaves_stays(table: Table) -> None:
    stores = Stores(table)
    products = stores.products
    await products.put_many({"m1": ProductDetails(group="mugs")})

    async def joined(real: Operation, arguments: Answer) -> Answer:
        await products.put_many({"m2": ProductDetails(group="mugs")})
        return await real(**arguments)

    client = FaultyClient(table.service, let_pass, let_pass, joined)
    await Stores(Table(client, table.name)).products.put_many({"m1": ProductDetails(group="")})
    assert (await stores.groups.get_many(["mugs"]))["mugs"].product_ids == ("m2",)
