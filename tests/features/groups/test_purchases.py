"""A delivered variant verifies comments on all products of its group."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from strawberry import Schema

from dal.dynamodb.table import Table
from dal.entities.order import purchase_key
from dal.model import OrderStatus, ProductDetails
from dal.stores import Stores
from resolvers.context import Context, Viewer
from tests.calls import calls_of
from tests.putting import put_orders
from tests.strategies import TWO_MUGS, order

ADD = """mutation($productId: ID!) { addComment(input: {
  productId: $productId, rating: 4, language: "en", text: "It is red." }) {
  comment { verifiedPurchase } userErrors { code } } }"""
VERIFIED, REFUSED = True, "NOT_BOUGHT"
MUGS = ("mug", "mug-blue", "mug-red")
ALONE = {"BatchGetItem": 1, "TransactWriteItems": 1}
WITH_GROUP = {"BatchGetItem": 2, "Query": 1, "TransactWriteItems": 1}


@pytest.fixture
async def stores(table: Table) -> Stores:
    """A table with a group of mugs, and a jug without a group. The user ana bought mug-red."""
    stores = Stores(table)
    await move(stores, "mugs", MUGS)
    await stores.products.put_many({"jug": ProductDetails("Jug")})
    await deliver(stores, "mug-red")
    await stores.maintenance.current()  # is read every few seconds, not for every comment
    return stores


async def move(stores: Stores, group: str, products: Iterable[str]) -> None:
    await stores.products.put_many({one: ProductDetails("Mug", group=group) for one in products})


async def deliver(
    stores: Stores, product: str, status: OrderStatus = OrderStatus.DELIVERED
) -> None:
    lines = (replace(TWO_MUGS[0], product_id=product),)
    await put_orders(stores.table, [order(f"of {product}", lines=lines, status=status)])


async def added(stores: Stores, schema: Schema, product: str, username: str = "ana") -> object:
    """Comment on a product where only buyers may. Return ``verifiedPurchase``, or the error."""
    context = Context(Viewer(username), stores, buyers_only=True)
    result = await schema.execute(ADD, {"productId": product}, context_value=context)
    assert result.data is not None
    payload = result.data["addComment"]
    for error in payload["userErrors"]:
        return error["code"]
    return payload["comment"]["verifiedPurchase"]


@pytest.mark.parametrize("product", MUGS)
async def test_a_variant_verifies_all_products_of_its_group(
    stores: Stores, schema: Schema, product: str
) -> None:
    calls = calls_of(stores.table)
    assert await added(stores, schema, product) is VERIFIED
    assert calls.operations == (ALONE if product == "mug-red" else WITH_GROUP)
    assert not any(call.arguments.get("ConsistentRead") for call in calls)


@pytest.mark.parametrize("product", ["jug", "unknown"])
async def test_a_product_without_a_group_costs_no_further_request(
    stores: Stores, schema: Schema, product: str
) -> None:
    calls = calls_of(stores.table)
    assert await added(stores, schema, product) == REFUSED
    assert calls.operations == {"BatchGetItem": 1}


async def test_the_largest_group_costs_the_same_requests(stores: Stores, schema: Schema) -> None:
    await move(stores, "mugs", [f"mug-{n}" for n in range(57)])
    calls = calls_of(stores.table)
    assert await added(stores, schema, "mug-56") is VERIFIED
    assert calls.operations == WITH_GROUP


async def test_the_group_at_the_time_of_the_comment_decides(stores: Stores, schema: Schema) -> None:
    await move(stores, "mugs", ["mug-new"])
    assert await added(stores, schema, "mug-new") is VERIFIED
    await move(stores, "", ["mug-blue"])
    assert await added(stores, schema, "mug-blue") == REFUSED
    await move(stores, "others", ["mug-red"])
    assert await added(stores, schema, "mug") == REFUSED
    assert await added(stores, schema, "mug-red") is VERIFIED
    await move(stores, "others", ["mug"])
    assert await added(stores, schema, "mug") is VERIFIED


async def test_only_the_users_own_deliveries_verify(stores: Stores, schema: Schema) -> None:
    assert await added(stores, schema, "mug", "bob") == REFUSED
    await move(stores, "jars", [f"jar-{status}" for status in OrderStatus] + ["jar"])
    for status in set(OrderStatus) - {OrderStatus.DELIVERED}:
        await deliver(stores, f"jar-{status}", status)
        assert await added(stores, schema, "jar") == REFUSED
    await deliver(stores, f"jar-{OrderStatus.DELIVERED}")
    assert await added(stores, schema, "jar") is VERIFIED


async def test_purchases_are_read_until_one_is_of_the_group(stores: Stores, schema: Schema) -> None:
    await stores.table.put_many([purchase_key("ana", f"a{n}") for n in range(1_001)])
    calls = calls_of(stores.table)
    assert await added(stores, schema, "mug") is VERIFIED
    assert len(calls.queries) == 2
    await stores.table.put_many([purchase_key("ana", "a")])
    await move(stores, "mugs", ["a"])
    calls.clear()
    assert await added(stores, schema, "mug-blue") is VERIFIED
    assert len(calls.queries) == 1


async def test_a_group_that_another_program_damaged_verifies_nothing(
    stores: Stores, schema: Schema
) -> None:
    broken = {"PK": {"S": "GROUP#mugs"}, "SK": {"S": "MEMBERS"}, "data": {"S": "{"}}
    await stores.table.put_many([broken])
    assert await added(stores, schema, "mug") == REFUSED
