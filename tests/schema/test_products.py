"""The shop's details of products: staff set them, and a product's statistics are read with them."""

from collections.abc import Mapping

import pytest
from strawberry import Schema

from dal.dynamodb.errors import StoreUnavailableError
from dal.dynamodb.table import Table
from dal.entities.product import details_key
from dal.model import ProductDetails
from dal.stores import Stores
from resolvers.context import Context, Viewer
from tests.calls import calls_of
from tests.putting import put_comments
from tests.schema.conftest import Run, runner
from tests.strategies import comment

STAFF = Viewer("sam", frozenset({"staff"}))

DETAILS = ProductDetails(title="Kettle", picture_url="/kettle.svg", url="https://shop.example/1")

UPDATE = """mutation($input: UpdateProductInput!) { updateProduct(input: $input) {
  product { productId title pictureUrl url } userErrors { field message code }
} }"""


@pytest.fixture(autouse=True)
async def stored(stores: Stores) -> None:
    await put_comments(
        stores.comments, [comment(str(n), product_id=f"p{n}", rating=5) for n in (1, 2)]
    )
    await stores.boards.finish()
    await stores.products.put_many({"p1": DETAILS})


@pytest.mark.parametrize(
    ("selected", "calls"),
    [
        ("title pictureUrl url statistics { total }", {"Query": 1}),
        ("statistics { total } s: statistics(language: []) { total } url title", {"Query": 1}),
        ("statistics { total }", {"Query": 1}),
        ("title pictureUrl url", {"BatchGetItem": 1}),
    ],
)
async def test_details_are_read_by_the_query_of_the_statistics(
    schema: Schema, table: Table, selected: str, calls: Mapping[str, int]
) -> None:
    stores = Stores(table)
    await stores.maintenance.current()  # each process sends this request at times
    seen = calls_of(table)
    answer = await runner(schema, stores)(f'{{ product(productId: "p1") {{ {selected} }} }}')
    product = answer["data"]["product"]
    if "title" in selected:
        assert (product["title"], product["url"]) == (DETAILS.title, DETAILS.url)
    assert seen.operations == calls


async def test_details_without_statistics_are_one_request_for_all_products(
    schema: Schema, table: Table
) -> None:
    seen = calls_of(table)
    answer = await runner(schema, Stores(table))(
        "{ leaderboard { nodes { product { productId title pictureUrl } } } }"
    )
    assert [one["product"]["title"] for one in answer["data"]["leaderboard"]["nodes"]] == [
        None,
        "Kettle",
    ]
    assert seen.operations["BatchGetItem"] == 1
    seen.clear()
    await runner(schema, Stores(table))(
        "{ leaderboard { nodes { product { productId title statistics { total } } } } }"
    )
    assert "BatchGetItem" not in seen.operations


async def test_the_statistics_of_twenty_products_are_one_query_each(
    schema: Schema, table: Table
) -> None:
    """Titles, pictures and facets are selected, even of repeated and unknown products."""
    stores = Stores(table)
    await put_comments(
        stores.comments,
        [comment(f"{n}/{m}", product_id=f"p{n}", rating=4) for n in range(3, 15) for m in range(n)],
    )
    await stores.boards.finish()
    await stores.maintenance.current()
    ids = [f"p{number}" for number in range(20, 0, -1)]
    seen = calls_of(table)
    found = await schema.execute(
        """query ($ids: [ID!]!) { products(productIds: $ids) { productId title pictureUrl
          statistics { average total facets(rating: 4) { total ratings { count } } } } }""",
        {"ids": [*ids, "p5", "p5", "p1"]},
        context_value=Context(STAFF, stores),
        operation_extensions={"cost": True},
    )
    assert found.errors is None
    assert found.data is not None
    products = found.data["products"]
    assert [one["productId"] for one in products] == [*ids, "p5", "p5", "p1"]
    assert {one["productId"]: one["statistics"]["total"] for one in products} == {
        **dict.fromkeys(ids, 0),
        **{f"p{number}": number for number in range(3, 15)},
        "p1": 1,
        "p2": 1,
    }
    assert products[15] == products[20] == products[21]
    assert (products[15]["statistics"]["facets"]["total"], products[-1]["title"]) == (5, "Kettle")
    assert seen.operations == {"Query": 20}
    cost = (found.extensions or {})["cost"]
    actual = cost["actual"]
    assert (actual["requests"], actual["rcu"], actual["wcu"]) == (20, 20.0, 0.0)
    assert (cost["predicted"]["requests"], cost["predicted"]["rcu"]) == (3 * 23, 3 * 460.0)


async def test_at_most_a_hundred_products_can_be_looked_up(run: Run) -> None:
    text = "query ($ids: [ID!]!) { products(productIds: $ids) { productId } }"
    ids = [f"p{number}" for number in range(101)]
    answer = await run(text, ids=ids[:100])
    assert answer == {
        "data": {"products": [{"productId": one} for one in ids[:100]]},
        "errors": [],
    }
    for wrong in (ids, ["p1", ""]):
        answer = await run(text, ids=wrong)
        assert answer["data"] == {"products": None}
        assert answer["errors"][0]["extensions"]["code"] == "BAD_ARGUMENT"


async def test_a_search_finds_products_by_each_word_of_their_titles(
    schema: Schema, table: Table
) -> None:
    stores = Stores(table)
    titles = {"p1": "Kettle", "p2": "Kettle, blue", "p3": "KETTLE", "p4": "Tea kettle"}
    await stores.products.put_many({one: ProductDetails(title) for one, title in titles.items()})
    await stores.maintenance.current()
    seen, run = calls_of(table), runner(schema, stores)
    text = """query ($after: String, $before: String, $first: Int, $last: Int) {
      productSearch(title: "ket", first: $first, after: $after, last: $last, before: $before) {
        nodes { productId title url isKnown } edges { node { pictureUrl } }
        pageInfo { hasNextPage startCursor endCursor } } }"""

    async def found(**variables: object) -> tuple[list[tuple[str, str]], dict[str, str]]:
        answer = await run(text, **variables)
        assert answer["errors"] == []
        page = answer["data"]["productSearch"]
        return [(one["productId"], one["title"]) for one in page["nodes"]], page["pageInfo"]

    page, info = await found(first=2)
    assert page == [("p1", "Kettle"), ("p3", "KETTLE")]
    assert info["hasNextPage"]
    following = [("p4", "Tea kettle"), ("p2", "Kettle, blue")]
    assert (await found(first=2, after=info["endCursor"]))[0] == following
    assert (await found(last=1, before=info["endCursor"]))[0] == page[:1]
    assert seen.operations == {"Query": 3}
    await run('{ productSearch(title: "k") { nodes { statistics { total } } } }')
    assert seen.operations == {"Query": 3 + 1 + 4}


@pytest.mark.parametrize(
    "arguments", ['title: " "', 'title: "%s"' % ("k" * 201), 'title: "k", after: "x"']
)
async def test_a_search_needs_a_text_and_its_own_cursors(run: Run, arguments: str) -> None:
    answer = await run(f"{{ productSearch({arguments}) {{ nodes {{ id }} }} }}")
    assert answer["data"] == {"productSearch": None}
    code = answer["errors"][0]["extensions"]["code"]
    assert code == ("BAD_CURSOR" if "after" in arguments else "BAD_ARGUMENT")


async def test_details_are_returned_although_the_statistics_failed(
    schema: Schema, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = Stores(table)

    async def fails(product_id: str) -> None:
        raise StoreUnavailableError("Away.")

    monkeypatch.setattr(stores.comments, "statistics_and_details", fails)
    answer = await runner(schema, stores)(
        '{ product(productId: "p1") { statistics { total } title } }'
    )
    assert answer["data"]["product"] == {"statistics": None, "title": "Kettle"}


async def test_staff_set_the_given_details_and_keep_the_others(run: Run) -> None:
    changes = {"productId": "p1", "title": "Better kettle", "url": ""}
    answer = await run(UPDATE, STAFF, input=changes)
    assert answer["data"]["updateProduct"] == {
        "product": {
            "productId": "p1",
            "title": "Better kettle",
            "pictureUrl": "/kettle.svg",
            "url": None,
        },
        "userErrors": [],
    }


async def test_an_item_of_another_program_is_not_overwritten(run: Run, table: Table) -> None:
    theirs = details_key("p1") | {"price": {"N": "5"}}
    await table.put_many([theirs])
    answer = await run(UPDATE, STAFF, input={"productId": "p1", "title": "Kettle"})
    payload = answer["data"]["updateProduct"]
    assert payload["product"] is None
    (error,) = payload["userErrors"]
    assert error["code"] == "ALREADY_EXISTS"
    assert "Another program" in error["message"]
    assert await table.get(details_key("p1")) == theirs


async def test_only_staff_set_details(run: Run, stores: Stores) -> None:
    for viewer, code in ((None, "UNAUTHENTICATED"), (Viewer("ann"), "FORBIDDEN")):
        answer = await run(UPDATE, viewer, input={"productId": "p1", "title": "Mine"})
        assert answer["data"] == {"updateProduct": None}
        assert answer["errors"][0]["extensions"]["code"] == code
    assert await stores.products.details(["p1"]) == {"p1": DETAILS}


async def test_all_errors_of_an_input_are_returned_at_once(run: Run, stores: Stores) -> None:
    changes = {"productId": "p1", "title": "x" * 201, "pictureUrl": "javascript:1", "url": "//e.x"}
    changes |= {"gtin": "4006381333932", "brand": "x" * 71, "mpn": "x" * 71}
    payload = (await run(UPDATE, STAFF, input=changes))["data"]["updateProduct"]
    assert payload["product"] is None
    assert [(one["field"], one["code"]) for one in payload["userErrors"]] == [
        (["input", name], "BAD_ARGUMENT") for name in list(changes)[1:]
    ]
    assert await stores.products.details(["p1"]) == {"p1": DETAILS}


async def test_a_mutation_reads_the_changes_of_an_earlier_mutation_of_the_request(run: Run) -> None:
    """The second mutation returns the new title, even if statistics have read the old details."""
    answer = await run(
        """mutation {
          a: updateProduct(input: {productId: "p1", title: "One"}) {
            product { statistics { total } } }
          b: updateProduct(input: {productId: "p1", title: "Two"}) { product { title } }
          c: addComment(input: {productId: "p1", rating: 5, language: "en", text: "x"}) {
            comment { product { title } } }
        }""",
        STAFF,
    )
    assert answer["data"]["b"]["product"] == {"title": "Two"}
    assert answer["data"]["c"]["comment"]["product"] == {"title": "Two"}
