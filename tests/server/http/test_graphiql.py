"""GraphiQL: its page and its files. No other file of their directories is served."""

from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from dal.dynamodb.table import Table
from server.auth.authenticator import DEMO_USER, Authenticator
from server.http import graphiql
from tests.server.applications import SECRET, serving
from tests.viewers import viewer_of

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class References(HTMLParser):
    """The files that a page loads, and whether the page has inline code."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.files: list[str] = []
        self.inline = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        linked = () if tag == "a" else ("src", "href")
        self.files += [value for name in linked if (value := found.get(name))]
        inline_script = tag == "script" and "src" not in found
        handlers = any(name.startswith("on") for name in found)
        self.inline |= inline_script or handlers or tag == "style" or "style" in found


@pytest.mark.parametrize("query", ["", "?query={__typename}"])
async def test_browsers_get_graphiql(client: httpx.AsyncClient, query: str) -> None:
    response = await client.get(f"/graphql{query}", headers=HTML)
    assert response.status_code == 200
    assert response.headers["vary"] == "Accept, Accept-Encoding"
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert f"curl &#x27;{client.base_url}/graphql&#x27;" in response.text.replace("'", "&#x27;")
    page = References(response.text)
    assert not page.inline
    assert len(page.files) == len(graphiql.FILES)
    for file in page.files:
        answer = await client.get(f"/{file}")
        assert answer.status_code == 200, file
        assert answer.content
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_only_a_demos_page_has_a_jwt_and_it_is_the_demos_user(table: Table) -> None:
    pages = []
    for demo in (False, True):
        authenticator = Authenticator(secret=lambda: SECRET)
        async with serving(table, authenticator=authenticator, demo=demo) as client:
            pages.append(await client.get("/graphql", headers=HTML))
    assert ["data-jwt" in page.text for page in pages] == [False, True]
    assert [page.headers["cache-control"] for page in pages] == ["no-cache", "no-store"]
    jwt = pages[1].text.partition('data-jwt="')[2].partition('"')[0]
    viewer = await viewer_of(authenticator, f"Bearer {jwt}")
    assert (viewer.user_id, viewer.roles) == (DEMO_USER, frozenset())


async def test_an_unchanged_file_is_answered_by_304(client: httpx.AsyncClient) -> None:
    first = await client.get("/static/graphiql/react.js")
    assert first.headers["cache-control"] == "no-cache"
    headers = {"If-None-Match": first.headers["etag"]}
    again = await client.get("/static/graphiql/react.js", headers=headers)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "index.html",
        "package.json",
        "..",
        "../../package.json",
        "%2e%2e/%2e%2e/package.json",
        "/etc/passwd",
        "a%00b",
        "x" * 5000,
    ],
)
async def test_no_other_file_is_served(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(f"/static/graphiql/{path}")
    assert response.status_code == 404
    assert response.json()["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_a_page_reports_that_graphiqls_files_are_missing(
    client: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    missing = {**graphiql.FILES, "react.js": tmp_path / "react.js"}
    monkeypatch.setattr(graphiql, "FILES", missing)
    response = await client.get("/graphql", headers=HTML)
    assert response.status_code == 404
    assert "GraphiQL is not available" in response.text
    assert caplog.text.count("run `make setup`") == 1
    assert not References(response.text).inline
    assert (await client.get("/static/graphiql/react.js")).status_code == 404
    assert (await client.get("/static/graphiql/page.css")).status_code == 200
