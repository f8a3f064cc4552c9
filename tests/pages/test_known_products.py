"""With --known-products-only, only products with details accept comments."""

from collections.abc import AsyncIterator

import httpx
import pytest

from dal.dynamodb.table import Table
from dal.model import ProductDetails
from dal.stores import Stores
from pages.comment import UNLISTED
from tests.pages.conftest import Parsed, client_of, jwt_of, opened
from tests.server.applications import app_of
from tests.server.serving import ADD

STATED = {"rating": 4, "language": "en", "title": "Good", "text": "It boils."}


@pytest.fixture
async def shopper(table: Table) -> AsyncIterator[httpx.AsyncClient]:
    await Stores(table).products.put_many(
        {
            "known": ProductDetails(picture_url="/mug.png"),
            "branded": ProductDetails(brand="Acme"),
            "emptied": ProductDetails(),
        }
    )
    async with client_of(app_of(table, known_products_only=True), jwt_of("ann")) as client:
        yield client


@pytest.mark.parametrize("product_id", ["unknown", "emptied"])
async def test_the_api_refuses_comments_on_unknown_products(
    shopper: httpx.AsyncClient, product_id: str
) -> None:
    text = ADD.replace("{ message }", "{ code field }")
    asked = {"query": text, "variables": {"input": STATED | {"productId": product_id}}}
    headers = {"Authorization": f"Bearer {jwt_of('ann')}"}
    answer = (await shopper.post("/graphql", json=asked, headers=headers)).json()
    assert answer["data"]["addComment"] == {
        "comment": None,
        "userErrors": [{"code": "BAD_ARGUMENT", "field": ["input", "productId"]}],
    }
    asked["variables"] = {"input": STATED | {"productId": "known"}}
    answer = (await shopper.post("/graphql", json=asked, headers=headers)).json()
    assert answer["data"]["addComment"]["comment"]["text"] == "It boils."


async def test_the_page_of_an_unknown_product_has_no_form(shopper: httpx.AsyncClient) -> None:
    assert UNLISTED not in (await opened(shopper, "/products/branded")).text
    page = await opened(shopper, "/products/known")
    assert UNLISTED not in page.text
    fields = page.fields()
    form = {**{name: str(one) for name, one in STATED.items()}, "form_key": fields["form_key"]}
    assert (await shopper.post("/products/known", data=form)).status_code == 303
    closed = await opened(shopper, "/products/unknown")
    assert UNLISTED in closed.text
    assert "key" not in closed.fields()
    answer = await shopper.post("/products/unknown", data=form)
    assert answer.status_code == 422
    assert UNLISTED in Parsed(answer.text).text


async def test_without_the_setting_every_product_accepts_comments(ann: httpx.AsyncClient) -> None:
    assert "key" in (await opened(ann, "/products/unknown")).fields()
