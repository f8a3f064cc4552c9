import json
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from dal.client.table import Table
from dal.limits import MAX_BODY
from dal.model import Comment
from dal.stores import Stores
from server.app import create_app
from server.auth.authenticator import Authenticator, make_token
from server.http import graphiql
from server.settings import Settings
from tests.conftest import Clients, fresh_table

SECRET = "a secret of thirty-two bytes, or more"
JSON = {"Content-Type": "application/json"}
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
VIEW = '{ product(productId: "42") { productId } }'


def client_of(app: ASGIApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


@pytest.fixture(scope="module")
async def table(clients: Clients, dynoxide_url: str) -> Table:
    """One table for all: each test that writes takes a product of its own."""
    return await fresh_table(clients, dynoxide_url)


@pytest.fixture(scope="module")
def app(table: Table) -> ASGIApp:
    return create_app(
        Settings(explain=True), table=table, authenticator=Authenticator(secret=lambda: SECRET)
    )


@pytest.fixture(scope="module")
async def client(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app) as client:
        yield client


def bearer(username: str, *roles: str) -> dict[str, str]:
    made = make_token(SECRET, username=username, roles=roles, lifetime=timedelta(minutes=1))
    return {"Authorization": f"Bearer {made}"}


def error_of(response: httpx.Response) -> tuple[str, str]:
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert list(body) == ["errors"]
    (error,) = body["errors"]
    assert "Traceback" not in error["message"]
    return error["extensions"]["code"], error["message"]


async def test_a_query_answers_from_the_store(client: httpx.AsyncClient, table: Table) -> None:
    comment = Comment(
        comment_id="c1",
        product_id="42",
        username="ada",
        rating=5,
        language="en",
        title="Naïve ☕",
        text="…",
        created_at=datetime(2020, 11, 20, tzinfo=UTC),
    )
    await Stores(table).comments.put_many([comment])
    query = """
      query First($id: String!) {
        product(productId: $id) {
          comments { nodes { title createdAt } plan { requests } }
        }
      }
    """
    response = await client.post("/graphql", json={"query": query, "variables": {"id": "42"}})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    page = response.json()["data"]["product"]["comments"]
    assert page["nodes"] == [{"title": "Naïve ☕", "createdAt": "2020-11-20T00:00:00+00:00"}]
    assert page["plan"]["requests"] == 1


async def test_plans_show_only_with_explain(table: Table) -> None:
    app = create_app(Settings(), table=table, authenticator=Authenticator(secret=lambda: None))
    query = '{ product(productId: "42") { comments { plan { requests } } } }'
    async with client_of(app) as client:
        response = await client.post("/graphql", json={"query": query})
    assert response.json() == {"data": {"product": {"comments": {"plan": None}}}}


async def test_the_cost_comes_along_for_who_asks(client: httpx.AsyncClient) -> None:
    query = '{ product(productId: "42") { statistics { total } } }'
    asked = {"query": query, "extensions": {"cost": True}}
    answer = (await client.post("/graphql", json=asked)).json()
    assert answer["extensions"]["cost"]["actual"]["requests"] > 0
    assert answer["extensions"]["cost"]["predicted"]["requests"] > 0
    answer = (await client.post("/graphql", json={"query": query})).json()
    assert "extensions" not in answer


ADD = """
  mutation Add($input: AddCommentInput!) {
    addComment(input: $input) { comment { username } userErrors { message } }
  }
"""
INPUT = {"input": {"productId": "43", "rating": 5, "language": "en", "text": "Good."}}


async def test_a_jwt_names_the_author(client: httpx.AsyncClient) -> None:
    response = await client.post(
        "/graphql", json={"query": ADD, "variables": INPUT}, headers=bearer("ada")
    )
    added = response.json()["data"]["addComment"]
    assert added == {"comment": {"username": "ada"}, "userErrors": []}


async def test_anybody_may_read_and_not_write(client: httpx.AsyncClient) -> None:
    response = await client.post("/graphql", json={"query": ADD, "variables": INPUT})
    assert response.status_code == 200
    assert response.json()["data"] == {"addComment": None}
    assert response.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_bad_jwt_is_told_before_anything_runs(client: httpx.AsyncClient) -> None:
    response = await client.post(
        "/graphql", json={"query": VIEW}, headers={"Authorization": "Bearer <JWT>"}
    )
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    code, message = error_of(response)
    assert code == "UNAUTHENTICATED"
    assert "send it whole" in message


async def test_keys_out_of_reach_are_unavailable(table: Table) -> None:
    from_nowhere = Authenticator(secret=lambda: None, jwks_url="http://127.0.0.1:9/keys")
    head = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ"  # {"alg":"RS256","kid":"k"}
    async with client_of(create_app(Settings(), table=table, authenticator=from_nowhere)) as client:
        response = await client.post(
            "/graphql", json={"query": VIEW}, headers={"Authorization": f"Bearer {head}.e30.eA"}
        )
    assert response.status_code == 503
    assert error_of(response)[0] == "UNAVAILABLE"


@pytest.mark.parametrize(
    ("body", "headers", "status", "sentence"),
    [
        (b"", JSON, 400, "not valid JSON"),
        (b"{", JSON, 400, "not valid JSON"),
        (b"\xff", JSON, 400, "not valid JSON"),
        (b"[" * 5000, JSON, 400, "not valid JSON"),
        (b'{"query": "\\ud800"}', JSON, 400, "not valid JSON"),
        (b"null", JSON, 400, "JSON object"),
        (b'[{"query": "{ __typename }"}]', JSON, 400, "one operation"),
        (b"{}", JSON, 400, "'query'"),
        (b'{"query": ""}', JSON, 400, "'query'"),
        (b'{"query": null}', JSON, 400, "'query'"),
        (b'{"query": 1}', JSON, 400, "'query' must be a string"),
        (b'{"query": "{ __typename }", "variables": []}', JSON, 400, "'variables' must be an obj"),
        (b'{"query": "{ __typename }", "operationName": 1}', JSON, 400, "'operationName' must"),
        (b'{"query": "{ __typename }", "extensions": 1}', JSON, 400, "'extensions' must be an"),
        (b'{"extensions": {"other": {}}}', JSON, 400, "'query'"),
        (b'{"query": "{ __typename }"}', {}, 415, "application/json"),
        (b'{"query": "{ __typename }"}', {"Content-Type": "text/plain"}, 415, "application/json"),
        (b"query=x", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "appl"),
        (b"", {"Content-Type": "multipart/form-data; boundary=x"}, 415, "application/json"),
        (b" " * (MAX_BODY + 1), JSON, 413, "larger than 1,000,000 bytes"),
    ],
)
async def test_what_is_no_operation_is_refused_in_json(
    client: httpx.AsyncClient, body: bytes, headers: dict[str, str], status: int, sentence: str
) -> None:
    response = await client.post("/graphql", content=body, headers=headers)
    assert response.status_code == status
    code, message = error_of(response)
    assert code == "BAD_REQUEST"
    assert sentence in message


async def test_a_body_is_read_no_further_than_the_most(client: httpx.AsyncClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(100):  # a server that reads on must fail the test, not fill the memory
            sent += 100_000
            yield b" " * 100_000

    response = await client.post("/graphql", content=endless(), headers=JSON)
    assert response.status_code == 413
    assert sent == MAX_BODY + 100_000


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8"])
async def test_json_is_json_however_spelt(client: httpx.AsyncClient, content_type: str) -> None:
    response = await client.post(
        "/graphql",
        content=json.dumps({"query": VIEW, "variables": None, "operationName": None}),
        headers={"Content-Type": content_type},
    )
    assert response.json() == {"data": {"product": {"productId": "42"}}}


async def test_other_methods_are_refused(client: httpx.AsyncClient) -> None:
    response = await client.put("/graphql", json={"query": VIEW})
    assert response.status_code == 405
    assert "POST" in response.headers["allow"]
    assert error_of(response)[0] == "BAD_REQUEST"


async def test_unknown_paths_say_where_graphql_is(client: httpx.AsyncClient) -> None:
    response = await client.get("/nowhere")
    assert response.status_code == 404
    code, message = error_of(response)
    assert code == "NOT_FOUND"
    assert "/graphql" in message


async def test_websockets_are_for_graphql_alone(app: ASGIApp) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, str]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    client = ("127.0.0.1", 50_000)
    headers = [(b"host", b"localhost")]
    scope = {"type": "websocket", "path": "/", "headers": headers, "client": client}
    await app(scope, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


async def test_every_answer_carries_a_request_id(client: httpx.AsyncClient) -> None:
    first = await client.get("/health")
    second = await client.get("/nowhere")
    assert len(first.headers["x-request-id"]) == 32
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    given = "Root=1-67891233-abcdef012345678912345678"
    echoed = await client.post("/graphql", json={}, headers={"X-Request-ID": given})
    assert echoed.headers["x-request-id"] == given
    replaced = await client.get("/health", headers={"X-Request-ID": "a b"})
    assert len(replaced.headers["x-request-id"]) == 32


async def test_a_fault_is_told_by_its_request_id_and_logged_once(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> str:
        raise RuntimeError("the disk is on fire")

    app = create_app(Settings(), table=table, authenticator=Authenticator(secret=fail))
    async with client_of(app) as client:
        response = await client.post("/graphql", json={"query": VIEW}, headers=bearer("ada"))
    assert response.status_code == 500
    code, message = error_of(response)
    request_id = response.headers["x-request-id"]
    assert code == "INTERNAL"
    assert request_id in message
    assert "fire" not in message
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert request_id in record.getMessage()
    assert record.exc_info is not None


class References(HTMLParser):
    """The files that a page asks for, and whether it holds code of its own."""

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


async def test_browsers_get_graphiql(client: httpx.AsyncClient) -> None:
    response = await client.get("/graphql", headers=HTML)
    assert response.status_code == 200
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


async def test_a_file_that_the_browser_has_is_not_sent_again(client: httpx.AsyncClient) -> None:
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
async def test_nothing_else_is_served(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(f"/static/graphiql/{path}")
    assert response.status_code == 404
    assert error_of(response)[0] == "NOT_FOUND"


async def test_missing_files_are_told_by_the_page(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    missing = {**graphiql.FILES, "react.js": tmp_path / "react.js"}
    monkeypatch.setattr(graphiql, "FILES", missing)
    response = await client.get("/graphql", headers=HTML)
    assert response.status_code == 503
    assert "make setup" in response.text
    assert not References(response.text).inline
    assert (await client.get("/static/graphiql/react.js")).status_code == 404
    assert (await client.get("/static/graphiql/page.css")).status_code == 200
