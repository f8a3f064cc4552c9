"""The sentences of ``server/http`` about requests that it refuses."""

import json
from typing import cast

import httpx
import pytest
from starlette.types import ASGIApp

from server.http.admission import RateLimitMiddleware
from server.http.connections import _BUSY
from server.http.middleware import AllowedHosts, HostMiddleware
from server.http.request import MAX_BODY
from server.settings import Settings
from tests.server.http.listening import Echo


def message_of(response: httpx.Response) -> str:
    (error,) = response.json()["errors"]
    return cast("str", error["message"])


@pytest.mark.parametrize(
    ("method", "path", "content", "sentence"),
    [
        ("PUT", "/graphql", b"", "/graphql does not support the method PUT."),
        ("GET", "/nowhere", b"", "There is no page at /nowhere. GraphQL is at /graphql."),
        ("POST", "/graphql", b"", "Send the operation with Content-Type: application/json."),
        ("POST", "/graphql", b"[]", "The body must be a JSON object with one operation."),
        (
            "POST",
            "/graphql",
            b"{",
            "The body is not valid JSON: unexpected end of data: line 1 column 2 (char 1).",
        ),
        (
            "POST",
            "/graphql",
            b" " * (MAX_BODY + 1),
            "The body is larger than 1,000,000 bytes.",
        ),
        (
            "POST",
            "/graphql",
            b"{}",
            (
                "The request has no operation: send its text in 'query', or the id of a "
                "registered document in 'documentId'."
            ),
        ),
        (
            "POST",
            "/graphql",
            b'{"query": "{ __typename }", "documentId": "a"}',
            "Send a text in 'query' or an id in 'documentId', but not both.",
        ),
        ("POST", "/graphql", b'{"documentId": 1}', "'documentId' must be a string."),
        ("POST", "/graphql", b'{"variables": 1, "query": "a"}', "'variables' must be an object."),
        (
            "POST",
            "/graphql",
            b'{"extensions": {"persistedQuery": 1}}',
            "'extensions.persistedQuery' must contain a string 'sha256Hash'.",
        ),
        (
            "POST",
            "/graphql",
            b'{"documentId": "a"}',
            "No document is registered under the id 'a'.",
        ),
    ],
)
async def test_a_refused_request_has_a_sentence(
    client: httpx.AsyncClient, method: str, path: str, content: bytes, sentence: str
) -> None:
    headers = {"Content-Type": "application/json"} if content else {}
    answer = await client.request(method, path, content=content, headers=headers)
    assert message_of(answer) == sentence


async def last_answer(app: ASGIApp, requests: int) -> str:
    transport = httpx.ASGITransport(app, client=("203.0.113.9", 50_000))
    async with httpx.AsyncClient(transport=transport, base_url="http://evil.example") as client:
        answers = [await client.get("/") for _ in range(requests)]
    return message_of(answers[-1])


async def test_a_refused_client_or_host_has_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    assert [
        json.loads(bytes(_BUSY.body))["errors"][0]["message"],
        await last_answer(RateLimitMiddleware(Echo(), "1/min", []), 2),
        await last_answer(HostMiddleware(Echo(), AllowedHosts(Settings())), 1),
    ] == [
        "The server is busy: try again in a second.",
        (
            "203.0.113.9 sends more than 1/min: try again in 60 s. A document that the server has "
            "not seen may count as several requests: send values as variables, so that the "
            "document stays the same."
        ),
        "This server does not serve the host 'evil.example'.",
    ]
    assert caplog.messages == [
        (
            "Requests for the host 'evil.example' are refused: allow it with --public-url or "
            "--allowed-host."
        ),
    ]
