"""Repeat visits, and the headers of every page."""

import httpx
import pytest

from dal.client.table import Table
from tests.server.pages.conftest import COMMENT, numbered, stored

PAGES = ("/", "/products/cache", "/products/cache?rating=1", "/comments/cache-00001", "/sign-in")


@pytest.fixture(scope="module", autouse=True)
async def cache(table: Table) -> None:
    await stored(table, numbered("cache", 45))


@pytest.mark.parametrize("path", PAGES)
async def test_an_unchanged_page_is_answered_by_304(client: httpx.AsyncClient, path: str) -> None:
    first = await client.get(path)
    assert (first.status_code, first.headers["cache-control"]) == (200, "no-cache")
    again = await client.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["vary"] == "Cookie, Authorization, Accept-Language"


async def test_every_change_of_a_page_changes_its_tag(
    client: httpx.AsyncClient, table: Table
) -> None:
    comment = COMMENT._replace(comment_id="n1", product_id="news")
    seen = set()
    for changed in (
        comment,
        comment._replace(text="Other words."),
        comment._replace(rating=1),
        comment._replace(verified_purchase=True),
    ):
        await stored(table, [changed])
        seen.add((await client.get("/products/news")).headers["etag"])
    seen.add((await client.get("/products/news?rating=1")).headers["etag"])
    assert len(seen) == 5


async def test_pages_of_signed_in_users_are_not_shared(ann: httpx.AsyncClient) -> None:
    answer = await ann.get("/products/cache")
    assert answer.headers["cache-control"] == "private, no-cache"
    assert "etag" not in answer.headers


@pytest.mark.parametrize("path", [*PAGES, "/comments/none", "/products/1?rating=x", "/nowhere"])
async def test_every_page_has_the_strict_policy(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path, headers={"Accept": "text/html"})
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert " style=" not in answer.text
    assert "<style" not in answer.text
