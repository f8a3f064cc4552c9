"""The list of products, and the files for crawlers."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from dal.dynamodb import admin
from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.model import ProductDetails
from dal.stores import Stores
from pages.static_files import DIGEST
from tests.bulk import fill
from tests.conftest import Clients
from tests.pages.conftest import (
    COMMENT,
    SITE,
    Parsed,
    client_of,
    invalid_html,
    opened,
)
from tests.server.applications import app_of

PRODUCTS = 23
HTML = "text/html; charset=utf-8"


@pytest.fixture(scope="module")
async def table(clients: Clients, dynoxide_url: str) -> Table:
    """A separate table, because the page lists all products of its table."""
    table = Table(await clients.of(dynoxide_url), "home")
    await admin.create(table, INDEXES)
    rows = [
        COMMENT._replace(
            comment_id=f"{number}-{one}",
            product_id=f"p/{number}",
            rating=5,
            language="fr" if number > 20 else "en",
        )
        for number in range(1, PRODUCTS + 1)
        for one in range(number)
    ]
    rows.append(COMMENT._replace(comment_id="x", product_id="low", rating=1))
    rows.append(COMMENT._replace(comment_id="y", product_id="untitled", rating=5))
    await fill(table, rows)
    titles = {f"p/{number}": ProductDetails(f"Mug {number}") for number in range(1, PRODUCTS + 1)}
    await Stores(table).products.put_many(titles)
    return table


@pytest.fixture
async def client(table: Table) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app_of(table, explain=True)) as client:
        yield client


async def test_each_bar_is_labelled_with_its_stars(client: httpx.AsyncClient) -> None:
    page = await opened(client, "/")
    labels = [given["aria-label"] for _, given in page.elements if given.get("class") == "shape"]
    assert labels[0] == "5 stars: 23; 4 stars: 0; 3 stars: 0; 2 stars: 0; 1 star: 0"


def products(page: Parsed) -> list[str]:
    return [
        str(given["href"])
        for tag, given in page.elements
        if tag == "a" and str(given.get("href")).startswith("/products/")
    ]


async def test_the_products_with_the_most_good_ratings_come_first(
    client: httpx.AsyncClient,
) -> None:
    page = await opened(client, "/")
    assert products(page) == [f"/products/p%2F{number}" for number in range(23, 3, -1)]
    assert "5.0 from 23 comments" in page.text
    more = page.link("next")
    assert more is not None
    second = await opened(client, more)
    assert products(second) == [f"/products/p%2F{number}" for number in (3, 2, 1)]
    assert second.link("next") is None
    assert [
        given["value"] for tag, given in second.elements if tag == "li" and "value" in given
    ] == ["21", "22", "24"]


async def test_each_language_has_its_own_list(client: httpx.AsyncClient) -> None:
    page = await opened(client, "/?language=fr")
    assert products(page) == [f"/products/p%2F{number}?language=fr" for number in (23, 22, 21)]
    assert page.link("canonical") == "/?language=fr"
    assert "français" in page.text
    assert products(await opened(client, "/?language=de")) == []
    assert (await client.get("/?language=---")).status_code == 400


async def test_the_search_finds_titles_by_their_words(client: httpx.AsyncClient) -> None:
    page = await opened(client, "/products?q=+MUG+2")
    assert products(page) == [f"/products/p%2F{number}" for number in (2, 20, 21, 22, 23)]
    assert "5.0 from 2 comments" in page.text
    assert page.fields()["q"] == "MUG 2"
    assert products(await opened(client, "/products?q=21")) == ["/products/p%2F21"]
    first = await opened(client, "/products?q=mug")
    (more,) = [given["href"] for _, given in first.elements if given.get("rel") == "next"]
    assert len(products(first) + products(await opened(client, str(more)))) == PRODUCTS


async def test_the_search_opens_a_product_by_its_id(client: httpx.AsyncClient) -> None:
    answer = await client.get("/products?q=+low+")
    assert (answer.status_code, answer.headers["location"]) == (303, "/products/low")
    assert (await client.get("/products")).headers["location"] == "/"


@pytest.mark.parametrize("words", ["nope", "%F0%9F%98%80" * 200, "%3Cb%3E", "UHJvZHVjdDo0Mg%3D%3D"])
async def test_a_search_without_results_links_to_the_home_page(
    client: httpx.AsyncClient, words: str
) -> None:
    page = await opened(client, f"/products?q={words}")
    assert "No product has a title with a word that begins with" in page.text
    assert products(page) == []


async def test_a_wrong_method_gets_an_error_page(client: httpx.AsyncClient) -> None:
    answer = await client.post("/playground", headers={"Accept": "text/html"})
    assert (answer.status_code, "GET" in answer.headers["allow"]) == (405, True)
    assert "Page not available" in answer.text
    (error,) = (await client.post("/playground")).json()["errors"]
    assert error["extensions"]["code"] == "BAD_REQUEST"
    assert "POST" in error["message"]


async def test_crawlers_find_the_products(client: httpx.AsyncClient) -> None:
    robots = (await client.get("/robots.txt")).text
    assert f"Sitemap: {SITE}/sitemap.xml" in robots
    assert "Disallow: /graphql" in robots
    assert "Allow: /playground$\n" in robots
    answer = await client.get("/sitemap.xml")
    assert answer.headers["content-type"].startswith("application/xml")
    addresses = re.findall("<loc>(.*)</loc>", answer.text)
    assert addresses[:2] == [f"{SITE}/", f"{SITE}/products/p%2F23"]
    assert len(addresses) == PRODUCTS + 2


async def test_products_without_a_title_are_counted_and_not_listed(
    client: httpx.AsyncClient,
) -> None:
    more = (await opened(client, "/")).link("next")
    assert more is not None
    page = await opened(client, more)
    assert "/products/untitled" not in products(page)
    assert "1 product without a title is not listed here." in page.text


async def test_absolute_links_begin_with_the_public_url(table: Table) -> None:
    public = "https://shop.example"
    async with client_of(app_of(table, public_url=public)) as client:
        said = [(await client.get(path)).text for path in ("/", "/products/p%2F23", "/comments/x")]
        assert [f'<link rel="canonical" href="{public}/' in page for page in said] == [True] * 3
        assert f'"@id":"{public}/products/p%2F23"' in said[1]
        said += [(await client.get(path)).text for path in ("/robots.txt", "/sitemap.xml")]
        assert f"Sitemap: {public}/sitemap.xml" in said[3]
        assert f"<loc>{public}/products/p%2F23</loc>" in said[4]
        assert not [page for page in said if SITE in page]


async def test_links_begin_with_the_proxys_path(table: Table) -> None:
    app = app_of(table, explain=True)
    transport = httpx.ASGITransport(app, root_path="/shop")
    async with httpx.AsyncClient(transport=transport, base_url=SITE) as client:
        page = await opened(client, "/shop/")
        assert products(page) == []
        assert page.link("canonical") == "/shop/"
        assert page.link("stylesheet") == f"/shop/static/pages/{DIGEST}/page.css"
        for path in (page.link("stylesheet"), page.link("next")):
            assert path is not None
            assert (await client.get(path)).status_code == 200


BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/docs", "/graphql"),
        ("/docs/", "/graphql"),
        ("/graphiql", "/graphql"),
        ("/graphql/?query=x", "/graphql?query=x"),
        ("/playground/?product=a&lang=ja", "/playground?product=a&lang=ja"),
        ("//moderation/", "/moderation"),
        ("/sign-in/", "/sign-in"),
        ("/products/", "/"),
        ("/index.html", "/"),
    ],
)
async def test_an_address_of_another_form_leads_to_its_page(
    client: httpx.AsyncClient, address: str, page: str
) -> None:
    answer = await client.get(f"{SITE}{address}", headers=BROWSER)
    assert (answer.status_code, answer.headers["location"]) == (303, page)


@pytest.mark.parametrize("address", ["/docs", "/playground/", "/nowhere"])
@pytest.mark.parametrize(
    ("method", "accept"),
    [
        ("GET", "*/*"),
        ("GET", "application/json"),
        ("GET", "application/json, text/html;q=0.5"),
        ("POST", "application/json"),
    ],
)
async def test_a_program_gets_an_unknown_addresss_error_in_json(
    client: httpx.AsyncClient, address: str, method: str, accept: str
) -> None:
    answer = await client.request(method, address, headers={"Accept": accept})
    assert answer.status_code == 404
    assert answer.json()["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_a_posted_form_to_an_unknown_address_gets_an_error_page(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.post("/docs", headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (404, HTML)


async def test_an_unknown_address_gets_an_error_page(client: httpx.AsyncClient) -> None:
    answer = await client.get("/nowhere", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert " /nowhere." in Parsed(answer.text).text


async def test_the_html_is_valid(client: httpx.AsyncClient, tmp_path: Path) -> None:
    paths = ["/", "/?language=fr", "/?language=de", "/products/low", "/products/p%2F23?rating=1"]
    paths += ["/products/none", "/comments/x", "/sign-in", "/comments/none"]
    for number, path in enumerate(paths):
        page = await client.get(path, headers={"Accept": "text/html"})
        (tmp_path / f"{number}.html").write_text(page.text)
    (tmp_path / "wrong.html").write_text("<p>no title<img>")
    found = invalid_html(tmp_path)
    assert found
    assert [one for one in found if not one.startswith("wrong.html")] == []
