"""Repeated visits, simultaneous visits, and the caching headers of every page."""

import asyncio
from typing import Any

import httpx
import pytest

from dal.dynamodb.table import Table
from pages import rendering
from tests.pages.conftest import COMMENT, numbered, stored

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


async def test_every_change_of_a_page_changes_its_etag(
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


async def test_pages_of_signed_in_users_are_not_cached_by_shared_caches(
    ann: httpx.AsyncClient,
) -> None:
    answer = await ann.get("/products/cache")
    assert answer.headers["cache-control"] == "private, no-cache"
    assert "etag" not in answer.headers


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the templates that the server renders, in order."""
    render, templates = rendering.render, list[str]()

    def noted(template: str, facts: dict[str, Any]) -> str:
        templates.append(template)
        return render(template, facts)

    monkeypatch.setattr(rendering, "render", noted)
    return templates


async def test_simultaneous_visitors_share_a_page(
    client: httpx.AsyncClient, rendered: list[str]
) -> None:
    answers = await asyncio.gather(*(client.get("/products/cache") for _ in range(5)))
    assert len(rendered) == 1
    (page,) = {one.content for one in answers}
    assert page
    headers = [{**one.headers, "x-request-id": ""} for one in answers]
    assert headers == [headers[0]] * 5
    assert len({one.headers["x-request-id"] for one in answers}) == 5


async def test_visitors_do_not_share_pages_of_other_addresses_languages_or_users(
    client: httpx.AsyncClient, ann: httpx.AsyncClient, rendered: list[str]
) -> None:
    answers = await asyncio.gather(
        client.get("/products/cache"),
        client.get("/products/cache?rating=1"),
        client.get("/products/cache", headers={"Accept-Language": "de"}),
        client.get("/products/cache?lang=de"),
        client.get("/products/cache", headers={"Host": "other.localhost"}),
        ann.get("/products/cache"),
        ann.get("/products/cache"),
    )
    assert len(rendered) == 7
    assert ["Signed in as" in one.text for one in answers] == [False] * 5 + [True] * 2
    assert ["set-cookie" in one.headers for one in answers] == [False] * 3 + [True] + [False] * 3


async def test_a_page_that_is_requested_after_a_write_includes_it(
    client: httpx.AsyncClient, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, read, go_on = table.service, asyncio.Event(), asyncio.Event()

    class Late:
        endpoint_url = service.endpoint_url

        async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
            response = await service.call(operation, arguments)
            read.set()
            await go_on.wait()
            return response

    with monkeypatch.context() as patch:
        patch.setattr(table, "service", Late())
        before = asyncio.create_task(client.get("/products/cache-write"))
        await read.wait()
    await stored(table, numbered("cache-write", 1))
    after = await client.get("/products/cache-write")
    go_on.set()
    shown = ["cache-write-00000" in page.text for page in (await before, after)]
    assert shown == [False, True]


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
