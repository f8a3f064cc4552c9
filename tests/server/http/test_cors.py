"""Pages of other origins: which of them may call the API, and the CORS headers."""

import re

import httpx
import pytest

from dal.dynamodb.table import Table
from server.auth.authenticator import Authenticator
from server.auth.issuer import Issuer
from server.errors import CommandError
from server.http.request import MAX_BODY
from server.settings import Settings
from tests.server.applications import serving
from tests.server.serving import SECRET, bearer

SHOP, OTHER = "https://shop.example", "https://other.example"
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type",
}
ANYBODY = Authenticator(secret=lambda: None)
SIGNED = {"Authorization": "Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.e30.eA"}
"""A JWT with the head {"alg":"RS256","kid":"k"}, so a key of the key set must verify it."""
NOWHERE = Issuer(jwks_url="http://127.0.0.1:9")


async def asked(client: httpx.AsyncClient, origin: str) -> tuple[httpx.Response, httpx.Response]:
    """Send a preflight request and a request, as a page of ``origin`` does.

    Return the responses.
    """
    preflight = await client.options("/graphql", headers={"Origin": origin, **PREFLIGHT})
    answer = await client.post(
        "/graphql", json={"query": "{ __typename }"}, headers={"Origin": origin}
    )
    return preflight, answer


async def test_a_page_of_an_allowed_origin_can_send_requests_and_read_responses(
    table: Table,
) -> None:
    async with serving(table, cors_origins=[SHOP]) as client:
        preflight, answer = await asked(client, SHOP)
    assert preflight.status_code == 200
    assert preflight.headers["Access-Control-Allow-Origin"] == SHOP
    assert preflight.headers["Access-Control-Allow-Headers"] == "authorization,content-type"
    assert "GET" in preflight.headers["Access-Control-Allow-Methods"]
    assert int(preflight.headers["Access-Control-Max-Age"]) >= 600
    assert answer.json() == {"data": {"__typename": "Query"}}
    assert answer.headers["Access-Control-Allow-Origin"] == SHOP
    assert "X-Request-ID" in answer.headers["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert "Origin" in answer.headers["Vary"]


async def test_a_page_of_another_origin_cannot_read_responses(table: Table) -> None:
    async with serving(table, cors_origins=[SHOP]) as client:
        preflight, answer = await asked(client, OTHER)
    assert preflight.status_code == 400
    for told in (preflight, answer):
        assert "Access-Control-Allow-Origin" not in told.headers


async def test_any_origin_may_send_requests_if_the_operator_allows_it(table: Table) -> None:
    async with serving(table, cors_origins=["*"]) as client:
        preflight, answer = await asked(client, OTHER)
    assert preflight.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://localhost:5173", True),
        ("http://127.0.0.1:3000", True),
        ("http://[::1]:3000", True),
        ("http://localhost.evil.example", False),
        ("http://127.0.0.1.evil.example:3000", False),
        (OTHER, False),
    ],
)
async def test_pages_of_this_machine_can_use_the_demo(
    table: Table, origin: str, allowed: bool
) -> None:
    async with serving(table, demo=True) as client:
        _, answer = await asked(client, origin)
    assert ("Access-Control-Allow-Origin" in answer.headers) is allowed


async def test_without_an_origin_there_are_no_cors_headers_and_options_is_refused(
    table: Table,
) -> None:
    async with serving(table) as client:
        preflight, answer = await asked(client, SHOP)
    assert preflight.status_code == 405
    assert "Access-Control-Allow-Origin" not in answer.headers


def fail() -> str:
    raise RuntimeError("the disk is on fire")


@pytest.mark.parametrize(
    ("status", "authenticator", "headers", "body"),
    [
        (401, Authenticator(secret=lambda: SECRET), {"Authorization": "Bearer x"}, b"{}"),
        (405, ANYBODY, {}, b"{}"),
        (413, ANYBODY, {}, b" " * (MAX_BODY + 1)),
        (415, ANYBODY, {"Content-Type": "text/plain"}, b"{}"),
        (421, ANYBODY, {"Host": "evil.example"}, b"{}"),
        (500, Authenticator(secret=fail), bearer("ada"), b"{}"),
        (
            503,
            Authenticator(secret=lambda: None, issuer=NOWHERE),
            SIGNED,
            b"{}",
        ),
    ],
)
async def test_a_page_can_read_a_refusal(
    table: Table,
    status: int,
    authenticator: Authenticator,
    headers: dict[str, str],
    body: bytes,
) -> None:
    async with serving(table, authenticator=authenticator, cors_origins=[SHOP]) as client:
        answer = await client.request(
            "PUT" if status == 405 else "POST",
            "/graphql",
            content=body,
            headers={"Content-Type": "application/json", "Origin": SHOP} | headers,
        )
    assert answer.status_code == status
    assert answer.headers["Access-Control-Allow-Origin"] == SHOP
    assert "X-Request-ID" in answer.headers["Access-Control-Expose-Headers"]
    assert "X-Request-ID" in answer.headers


@pytest.mark.parametrize("origins", [[SHOP], ["*"]])
@pytest.mark.parametrize("path", ["/", "/products/1", "/sign-in", "/health", "/nowhere"])
async def test_another_origin_cannot_read_the_html_pages(
    table: Table, origins: list[str], path: str
) -> None:
    async with serving(table, cors_origins=origins) as client:
        answer = await client.get(path, headers={"Origin": SHOP, "Accept": "text/html"})
        preflight = await client.options(path, headers={"Origin": SHOP, **PREFLIGHT})
    for told in (answer, preflight):
        assert "Access-Control-Allow-Origin" not in told.headers


async def test_caches_store_separate_responses_for_different_origins(table: Table) -> None:
    async with serving(table, cors_origins=[SHOP]) as client:
        for headers in ({"Origin": SHOP}, {"Origin": OTHER}, {}):
            answer = await client.get("/graphql?query={__typename}", headers=headers)
            assert answer.headers["Vary"] == "Accept, Origin"


async def test_cors_works_for_a_site_below_a_path(table: Table) -> None:
    async with serving(table, root_path="/shop", cors_origins=[SHOP]) as client:
        answer = await client.get("/shop/graphql?query={__typename}", headers={"Origin": SHOP})
    assert answer.json() == {"data": {"__typename": "Query"}}
    assert answer.headers["Access-Control-Allow-Origin"] == SHOP


@pytest.mark.parametrize(
    "origin", ["shop.example", "https://shop.example/", "https://shop.example/path", "", "null"]
)
def test_an_invalid_origin_is_refused_with_the_option(origin: str) -> None:
    with pytest.raises(CommandError, match=re.escape(f"--cors-origin {origin} ")):
        Settings(cors_origins=[origin])
