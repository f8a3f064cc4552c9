"""``isKnown``: whether the server has data about a product, an author or a user."""

from itertools import product

import pytest
from strawberry import Schema

from dal.dynamodb.table import Table
from dal.model import OrderStatus, Profile
from dal.stores import Stores
from resolvers.context import Viewer
from tests.calls import calls_of
from tests.putting import put_orders, put_profiles
from tests.schema.conftest import ANN, STAFF, Run, runner
from tests.strategies import comment, order

PAIRS = list(product(("never", "stored", "removed"), repeat=2))
"""What happened to a product's details, and to its only comment."""


async def test_a_product_is_known_by_details_or_comments(schema: Schema, each_table: Table) -> None:
    stores = Stores(each_table)
    products = {f"{details}/{comments}": (details, comments) for details, comments in PAIRS}
    for product_id, (details, comments) in products.items():
        if details != "never":
            await stores.products.update(product_id, {"title": "Kettle"})
        if details == "removed":
            await stores.products.update(product_id, {"title": ""})
        if comments != "never":
            await stores.comments.add(comment(product_id, product_id=product_id))
        if comments == "removed":
            await stores.comments.delete(product_id, lambda _: None)
    answer = await runner(schema, stores)(
        "query ($ids: [ID!]!) { products(productIds: $ids) { productId isKnown } }",
        ids=[*products],
    )
    assert {one["productId"]: one["isKnown"] for one in answer["data"]["products"]} == {
        product_id: "stored" in histories for product_id, histories in products.items()
    }


@pytest.mark.parametrize(
    ("selected", "calls"),
    [
        ("isKnown", {"BatchGetItem": 1, "Query": 1}),
        ("isKnown title", {"BatchGetItem": 1, "Query": 1}),
        ("isKnown again: isKnown", {"BatchGetItem": 1, "Query": 1}),
        ("isKnown statistics { total }", {"Query": 4}),
        ("title", {"BatchGetItem": 1}),
    ],
)
async def test_a_comment_is_read_only_for_products_without_details(
    schema: Schema, table: Table, selected: str, calls: dict[str, int]
) -> None:
    stores = Stores(table)
    for product_id in ("p1", "p2"):
        await stores.products.update(product_id, {"title": "Kettle"})
    await stores.maintenance.current()
    seen = calls_of(table)
    text = f'{{ products(productIds: ["p1", "p2", "p3"]) {{ {selected} }} }}'
    answer = await runner(schema, stores)(text)
    assert answer["errors"] == []
    assert seen.operations == calls


USERS = {
    "nothing": (False, False),
    "profile": (False, True),
    "order": (False, True),
    "comment": (True, True),
    "deleted comment": (False, False),
}
"""For each kind of data: whether ``author`` and ``user`` return isKnown."""


@pytest.fixture
async def users(stores: Stores) -> None:
    await put_profiles(stores.table, {"profile": Profile(full_name="Ann", email="")})
    await put_orders(stores.table, [order("o1", username="order", status=OrderStatus.PLACED)])
    for username in ("comment", "deleted comment"):
        await stores.comments.add(comment(username, username=username))
    await stores.comments.delete("deleted comment", lambda _: None)


@pytest.mark.usefixtures("users")
@pytest.mark.parametrize("username", USERS)
async def test_an_author_is_known_by_comments_alone_and_a_user_also_by_what_is_private(
    run: Run, username: str
) -> None:
    text = """query ($name: String!) {
      author(username: $name) { isKnown } user(username: $name) { isKnown } }"""
    as_author, as_user = USERS[username]
    for viewer in (STAFF, Viewer(username)):
        answer = await run(text, viewer, name=username)
        assert answer["data"] == {"author": {"isKnown": as_author}, "user": {"isKnown": as_user}}
    answer = await run(text, ANN, name=username)
    assert answer["data"] == {"author": {"isKnown": as_author}, "user": None}
