"""Requests to /graphql: bodies, JWTs, methods, and the id of each request."""

import json
import logging
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from dal.dynamodb.table import Table
from dal.model import Comment
from dal.stores import Stores
from server.auth.authenticator import Authenticator
from server.auth.issuer import Issuer
from server.http.middleware import DeadlineMiddleware
from server.http.request import MAX_BODY
from tests.putting import put_comments
from tests.server.applications import app_of, serving
from tests.server.serving import bearer

JSON = {"Content-Type": "application/json"}
VIEW = '{ product(productId: "42") { productId } }'


def error_of(response: httpx.Response) -> tuple[str, str]:
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert list(body) == ["errors"]
    (error,) = body["errors"]
    assert "Traceback" not in error["message"]
    return error["extensions"]["code"], error["message"]


async def test_a_query_returns_stored_comments(client: httpx.AsyncClient, table: Table) -> None:
    made = datetime(2020, 11, 20, tzinfo=UTC)
    comment = Comment("c1", "42", "ada", 5, "en", "Naïve ☕", "…", made)
    await put_comments(Stores(table).comments, [comment])
    query = """query First($id: ID!) {
      product(productId: $id) { comments { nodes { title createdAt } } } }"""
    response = await client.post("/graphql", json={"query": query, "variables": {"id": "42"}})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    page = response.json()["data"]["product"]["comments"]
    assert page["nodes"] == [{"title": "Naïve ☕", "createdAt": "2020-11-20T00:00:00.000000Z"}]


async def test_a_write_requires_a_jwt_that_names_the_author(client: httpx.AsyncClient) -> None:
    query = """mutation ($input: AddCommentInput!) {
      addComment(input: $input) { comment { username } userErrors { message } } }"""
    comment = {"productId": "43", "rating": 5, "language": "en", "text": "Good."}
    body = {"query": query, "variables": {"input": comment}}
    added = (await client.post("/graphql", json=body, headers=bearer("ada"))).json()
    assert added["data"]["addComment"] == {"comment": {"username": "ada"}, "userErrors": []}
    refused = await client.post("/graphql", json=body)
    assert (refused.status_code, refused.json()["data"]) == (200, {"addComment": None})
    assert refused.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


def fail() -> str:
    raise RuntimeError("the disk is on fire")


OF_A_KEY_SET = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.e30.eA"  # its head is {"alg":"RS256","kid":"k"}
NO_KEYS = Authenticator(secret=lambda: None, issuer=Issuer(jwks_url="http://127.0.0.1:9/keys"))


@pytest.mark.parametrize(
    ("jwt", "authenticator", "status", "code", "sentence"),
    [
        ("<JWT>", None, 401, "UNAUTHENTICATED", "send it whole"),
        (OF_A_KEY_SET, NO_KEYS, 503, "UNAVAILABLE", ""),
    ],
    ids=["an invalid JWT", "a key set that cannot be fetched"],
)
async def test_a_jwt_is_verified_before_the_operation_is_executed(
    table: Table,
    jwt: str,
    authenticator: Authenticator | None,
    status: int,
    code: str,
    sentence: str,
) -> None:
    headers = {"Authorization": f"Bearer {jwt}"}
    async with serving(table, authenticator=authenticator) as client:
        response = await client.post("/graphql", json={"query": VIEW}, headers=headers)
    assert response.status_code == status
    assert response.headers.get("www-authenticate", "Bearer").startswith("Bearer")
    assert ("www-authenticate" in response.headers) is (status == 401)
    assert error_of(response)[0] == code
    assert sentence in error_of(response)[1]


@pytest.mark.parametrize(
    ("body", "headers", "status", "reason"),
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
        (b'{"query": 1}', JSON, 400, "'query' .*string"),
        (b'{"query": "{ __typename }", "variables": []}', JSON, 400, "'variables' .*object"),
        (b'{"query": "{ __typename }", "operationName": 1}', JSON, 400, "'operationName' .*string"),
        (b'{"query": "{ __typename }", "extensions": 1}', JSON, 400, "'extensions' .*object"),
        (b'{"extensions": {"other": {}}}', JSON, 400, "'query'"),
        (b'{"query": "{ __typename }"}', {}, 415, "application/json"),
        (b'{"query": "{ __typename }"}', {"Content-Type": "text/plain"}, 415, "application/json"),
        (b"query=x", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "appl"),
        (b"", {"Content-Type": "multipart/form-data; boundary=x"}, 415, "application/json"),
        (b" " * (MAX_BODY + 1), JSON, 413, "1,000,000 bytes"),
    ],
)
async def test_a_body_without_an_operation_is_refused_in_json(
    client: httpx.AsyncClient, body: bytes, headers: dict[str, str], status: int, reason: str
) -> None:
    response = await client.post("/graphql", content=body, headers=headers)
    assert response.status_code == status
    code, message = error_of(response)
    assert code == "BAD_REQUEST"
    assert re.search(reason, message)


async def test_a_body_is_read_up_to_its_limit(client: httpx.AsyncClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(
            100
        ):  # limited, so that a server that reads on fails the test instead of filling the memory
            sent += 100_000
            yield b" " * 100_000

    response = await client.post("/graphql", content=endless(), headers=JSON)
    assert response.status_code == 413
    assert sent == MAX_BODY + 100_000


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8"])
async def test_the_content_type_may_have_capitals_and_parameters(
    client: httpx.AsyncClient, content_type: str
) -> None:
    response = await client.post(
        "/graphql",
        content=json.dumps({"query": VIEW, "variables": None, "operationName": None}),
        headers={"Content-Type": content_type},
    )
    assert response.json() == {"data": {"product": {"productId": "42"}}}


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "value"),
    [
        ("PUT", "/graphql", 405, "BAD_REQUEST", "/graphql .*PUT"),
        ("GET", "/nowhere", 404, "NOT_FOUND", "/nowhere.* /graphql"),
    ],
)
async def test_other_methods_and_paths_are_refused_in_json(
    client: httpx.AsyncClient, method: str, path: str, status: int, code: str, value: str
) -> None:
    response = await client.request(method, path)
    assert (response.status_code, error_of(response)[0]) == (status, code)
    assert re.search(value, error_of(response)[1])
    assert ("POST" in response.headers.get("allow", "")) is (status == 405)


async def test_only_graphql_accepts_websockets(table: Table) -> None:
    app = app_of(table)
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


async def test_every_response_has_a_request_id(client: httpx.AsyncClient) -> None:
    first = await client.get("/health")
    second = await client.get("/nowhere")
    assert len(first.headers["x-request-id"]) == 32
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    given = "Root=1-67891233-abcdef012345678912345678"
    echoed = await client.post("/graphql", json={}, headers={"X-Request-ID": given})
    assert echoed.headers["x-request-id"] == given
    replaced = await client.get("/health", headers={"X-Request-ID": "a b"})
    assert len(replaced.headers["x-request-id"]) == 32


async def test_an_internal_error_shows_its_request_id_and_is_logged_once(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(table, authenticator=Authenticator(secret=fail)) as client:
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


async def test_a_timeout_inside_the_application_is_not_reported_as_the_deadline() -> None:
    async def timing_out(scope: Scope, receive: Receive, send: Send) -> None:
        raise TimeoutError

    app = DeadlineMiddleware(timing_out, seconds=10)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        response = await client.get("/page")
    assert (response.status_code, error_of(response)[0]) == (500, "INTERNAL")
