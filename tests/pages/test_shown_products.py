"""A product's title, picture and address on pages, and the allowed hosts of pictures."""

import re

import httpx
import pytest

from dal.dynamodb.table import Table
from dal.model import ProductDetails
from dal.stores import Stores
from pages.addresses import picture_address
from server.errors import CommandError
from server.settings import Settings
from tests.calls import calls_of
from tests.pages.conftest import COMMENT, SITE, client_of, opened, stored
from tests.server.applications import app_of

CDN = "https://cdn.example"


@pytest.fixture(scope="module", autouse=True)
async def products(table: Table) -> None:
    said = {
        "own": ProductDetails("Kettle & <Sons>", "/static/pages/products.svg#kettle", "/kettle"),
        "remote": ProductDetails("Lamp", f"{CDN}/lamp.jpg", "https://shop.localhost/lamp"),
    }
    await stored(
        table, [COMMENT._replace(comment_id=one, product_id=one, rating=5) for one in said]
    )
    await Stores(table).products.put_many(said)


async def test_pages_show_the_title_of_a_product(client: httpx.AsyncClient) -> None:
    page = await opened(client, "/products/own")
    assert "Kettle & <Sons>: 5.0 of 5 stars from 1 comment · Marginalia" in page.text
    assert page.linked | {"review": [], "aggregateRating": {}} == {
        "@context": "https://schema.org",
        "@type": "Product",
        "@id": f"{SITE}/products/own",
        "url": f"{SITE}/kettle",
        "name": "Kettle & <Sons>",
        "image": f"{SITE}/static/pages/products.svg#kettle",
        "aggregateRating": {},
        "review": [],
    }
    assert ("a", {"href": "/kettle"}) in page.elements
    one = await opened(client, "/comments/own")
    assert one.linked["itemReviewed"]["name"] == "Kettle & <Sons>"
    picture = "/static/pages/products.svg#kettle"
    assert picture in [given.get("src") for tag, given in page.elements if tag == "img"]
    assert (await client.get(picture)).headers["content-type"] == "image/svg+xml"


async def test_pages_show_pictures_of_allowed_hosts(
    client: httpx.AsyncClient, table: Table
) -> None:
    there = await client.get("/products/remote")
    assert "; img-src 'self'; " in there.headers["content-security-policy"]
    assert "<img class" not in there.text
    assert f'"image":"{CDN}/lamp.jpg"' in there.text.replace(": ", ":")
    async with client_of(app_of(table, picture_origins=[CDN])) as other:
        shown = await other.get("/products/remote")
    assert f"; img-src 'self' {CDN}; " in shown.headers["content-security-policy"]
    assert f'<img class="picture" src="{CDN}/lamp.jpg"' in shown.text


@pytest.mark.parametrize(
    ("origin", "address", "shown"),
    [
        ("https://cdn.example", "https://CDN.example/lamp.jpg", True),
        ("https://CDN.example:443", "https://cdn.example/lamp.jpg", True),
        ("https://cdn.example", "https://cdn.example:443/lamp.jpg", True),
        ("https://cdn.example:8443", "https://cdn.example/lamp.jpg", False),
        ("https://cdn.example", "http://cdn.example/lamp.jpg", False),
        ("https://cdn.example", "https://cdn.example.evil.example/lamp.jpg", False),
    ],
)
def test_different_spellings_of_an_origin_are_equal(origin: str, address: str, shown: bool) -> None:
    assert picture_address(address, "/shop", [origin]) == (address if shown else None)


@pytest.mark.parametrize("origin", ["http://cdn.example", "https://cdn.example/a", "*", "cdn"])
def test_an_invalid_picture_origin_is_refused(origin: str) -> None:
    with pytest.raises(CommandError, match=re.escape(f"--picture-origin {origin} ")):
        Settings(picture_origins=[origin])


async def test_titles_need_no_other_request(table: Table) -> None:
    seen = calls_of(table)
    async with client_of(app_of(table)) as client:
        await opened(client, "/products/own")
        await opened(client, "/comments/own")
    keyed = [one for one in seen if one.operation == "BatchGetItem"]
    assert keyed == []
