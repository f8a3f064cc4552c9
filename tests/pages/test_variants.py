"""The switch of a product page between one variant and all variants of its group."""

import httpx
import pytest

from dal.dynamodb.table import Table
from dal.model import ProductDetails
from dal.stores import Stores
from tests.pages.conftest import COMMENT, SITE, opened, stored

GROUP = {f"mug-{colour}": f"{colour.title()} mug" for colour in ("blue", "green", "red")}


@pytest.fixture(scope="module", autouse=True)
async def products(table: Table) -> None:
    said = {one: ProductDetails(title, group="mugs") for one, title in GROUP.items()}
    await Stores(table).products.put_many(said)
    comments = [
        COMMENT._replace(comment_id=f"{one}-{n}", product_id=one, rating=n, text=f"On {one}: {n}.")
        for one in GROUP
        for n in (3, 5)
    ]
    alone = COMMENT._replace(comment_id="jug-1", product_id="jug")
    await stored(table, [*comments, alone])


async def test_all_variants_are_one_list_with_the_variant_of_each_comment(
    client: httpx.AsyncClient,
) -> None:
    one = await opened(client, "/products/mug-red?rating=5")
    assert "On mug-blue" not in one.text
    links = [given["href"] for tag, given in one.elements if tag == "a" and "href" in given]
    assert "/products/mug-red?rating=5&variants=all" in links
    every = await opened(client, "/products/mug-red?rating=5&variants=all")
    for product, title in GROUP.items():
        assert f"On {product}: 5." in every.text
        assert f"On {product}: 3." not in every.text
        assert ("a", {"href": f"/products/{product}"}) in every.elements
        assert title in every.text
    assert "3 comments match" in every.text
    assert ("meta", {"name": "robots", "content": "noindex"}) in every.elements
    assert ("input", {"type": "hidden", "name": "variants", "value": "all"}) in every.elements
    # The heading and the JSON-LD of each product have only its own rating.
    assert "4.0 from 2 comments" in every.text
    found = {product["@id"]: product for product in every.linked["@graph"]}
    assert found.keys() == {f"{SITE}/products/{product}" for product in GROUP}
    for product in found.values():
        assert product["aggregateRating"]["reviewCount"] == 2
        assert len(product["review"]) == 1


async def test_a_product_without_a_group_has_no_switch(client: httpx.AsyncClient) -> None:
    page = await opened(client, "/products/jug")
    assert "variants" not in page.text
    answer = await client.get("/products/jug?variants=all&order=oldest")
    assert (answer.status_code, answer.headers["location"]) == (303, "/products/jug?order=oldest")


async def test_a_variant_without_comments_or_outside_of_the_group_is_handled(
    client: httpx.AsyncClient, table: Table
) -> None:
    pots = {"pot-1": ProductDetails("Tea pot", group="pots"), "pot-2": ProductDetails(group="pots")}
    await Stores(table).products.put_many(pots)
    await stored(table, [COMMENT._replace(comment_id="pot-1-1", product_id="pot-1")])
    assert "No comments yet. Be the first." in (await opened(client, "/products/pot-2")).text
    every = await opened(client, "/products/pot-2?variants=all")
    assert "It boils." in every.text
    assert "Comments 1 comment" in every.text
    none = await opened(client, "/products/pot-2?variants=all&rating=1")
    assert "No comments match these filters." in none.text
    await Stores(table).products.put_many({"pot-1": ProductDetails("Tea pot")})
    alone = await opened(client, "/products/pot-2?variants=all")
    assert "It boils." not in alone.text
    answer = await client.get("/products/pot-1?variants=all")
    assert answer.headers["location"] == "/products/pot-1"
    for unknown in ("unheard-of", "pot-9"):
        answer = await client.get(f"/products/{unknown}?variants=all")
        assert answer.headers["location"] == f"/products/{unknown}"
