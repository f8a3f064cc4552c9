"""Headers for shared caches: which responses they may store, for how long, and the ETag."""

import json
from typing import Any

import httpx
import pytest

from dal.dynamodb.table import Table
from pages.page_documents import id_of
from server.http.request import GRAPHQL
from tests.features.trusted_documents.serving import serving
from tests.features.trusted_documents.test_persisted import VIEW, by_get, by_post, hashed, sha256
from tests.server.serving import ADD, bearer

NOT_KEPT = "private, no-store"
KEPT = "public, s-maxage=10, stale-while-revalidate=30"
LONG = "x" * 400
TEXTS = {
    "view": VIEW,
    "plan": "query ($id: ID!) { product(productId: $id) { comments { plan { index } } } }",
    "cursor": """query ($id: ID!) { product(productId: $id) {
      comments(after: "x") { totalCount } } }""",
    "own": "query ($id: String!) { user(username: $id) { username } }",
    "spread": "query ($id: ID!) { ...F } fragment F on Query { order(orderId: $id) { id } }",
    "schema": "{ __schema { queryType { name } } }",
    "large": "{" + " ".join(f'a{n}: product(productId: "{LONG}") {{ id }}' for n in range(9)) + "}",
    "add": ADD,
}
ASKED: dict[str, Any] = {"documentId": "view", "variables": {"id": "42"}}


def kept(answer: httpx.Response) -> str:
    return str(answer.headers.get("cache-control"))


async def test_a_public_read_by_get_is_cached_for_all_clients(table: Table) -> None:
    async with serving(table, TEXTS) as client:
        answers = [await by_get(client, **ASKED) for _ in range(2)]
        answers.append(
            await client.get("/graphql", params={"documentId": "view", "variables": '{"id":"42"}'})
        )
    for answer in answers:
        assert answer.status_code == 200
        assert kept(answer) == KEPT
        assert answer.headers["vary"] == "Accept, Authorization, Origin"
        assert "x-request-id" not in answer.headers
    assert len({answer.headers["etag"] for answer in answers}) == 1
    assert answers[0].headers["etag"][0] == '"', "strong"


async def test_responses_for_all_clients_do_not_have_the_rate_of_one(table: Table) -> None:
    limits: dict[str, Any] = {"rate_limit": "100/hour", "trusted_proxies": ["10.0.0.1"]}
    async with serving(table, TEXTS, **limits) as client:
        shared = await by_get(client, **ASKED)
        private = await by_get(client, documentId="schema")
    assert ("ratelimit" in shared.headers, "ratelimit" in private.headers) == (False, True)


async def test_etags_differ_by_data_and_by_media_type(table: Table) -> None:
    async with serving(table, TEXTS) as client:
        tags = {
            (await by_get(client, **ASKED)).headers["etag"],
            (await by_get(client, documentId="view", variables={"id": "43"})).headers["etag"],
        }
        client.headers["Accept"] = GRAPHQL
        tags.add((await by_get(client, **ASKED)).headers["etag"])
    assert len(tags) == 3


@pytest.mark.parametrize("form", ["{}", "W/{}", '"a", {} , "b"'])
async def test_a_client_with_the_current_response_gets_304(table: Table, form: str) -> None:
    async with serving(table, TEXTS) as client:
        whole = await by_get(client, **ASKED)
        client.headers["If-None-Match"] = form.format(whole.headers["etag"])
        answer = await by_get(client, **ASKED)
        other = await by_get(client, documentId="view", variables={"id": "43"})
    assert (answer.status_code, answer.content, kept(answer)) == (304, b"", KEPT)
    for name in ("etag", "vary"):
        assert answer.headers[name] == whole.headers[name]
    assert other.status_code == 200


@pytest.mark.parametrize("coding", ["gzip", "br"])
async def test_a_compressed_response_has_its_own_etag(table: Table, coding: str) -> None:
    async with serving(table, TEXTS) as client:
        client.headers["Accept-Encoding"] = "identity"
        plain = await by_get(client, documentId="large")
        client.headers["Accept-Encoding"] = coding
        whole = await by_get(client, documentId="large")
        assert whole.headers["content-encoding"] == coding
        assert whole.headers["vary"] == "Accept, Authorization, Origin, Accept-Encoding"
        assert whole.headers["etag"] == f'{plain.headers["etag"][:-1]}-{coding}"'
        client.headers["If-None-Match"] = whole.headers["etag"]
        again = await by_get(client, documentId="large")
    assert again.status_code == 304
    for name in ("etag", "vary"):
        assert again.headers[name] == whole.headers[name]


@pytest.mark.parametrize("document", ["plan", "cursor", "own", "spread", "schema", "none"])
async def test_private_responses_and_errors_are_not_cached(table: Table, document: str) -> None:
    async with serving(table, TEXTS, explain=True) as client:
        answer = await by_get(client, documentId=document, variables={"id": "42"})
        assert (kept(answer), "etag" in answer.headers) == (NOT_KEPT, False)
        client.headers["If-None-Match"] = "*"
        assert (await by_get(client, documentId=document)).status_code != 304


async def test_responses_with_costs_are_not_cached(table: Table) -> None:
    async with serving(table, TEXTS, explain=True) as client:
        answer = await by_get(client, extensions={"cost": True}, **ASKED)
    assert "cost" in answer.json()["extensions"]
    assert kept(answer) == NOT_KEPT


@pytest.mark.parametrize(
    "headers", [bearer("ada"), bearer("sam", "staff"), {"Cookie": "a=b"}, {"Cookie": ""}]
)
async def test_responses_to_signed_in_clients_are_not_cached(
    table: Table, headers: dict[str, str]
) -> None:
    async with serving(table, TEXTS) as client:
        tag = (await by_get(client, **ASKED)).headers["etag"]
        client.headers.update(headers)
        client.headers["If-None-Match"] = tag
        answer = await by_get(client, **ASKED)
    assert (answer.status_code, kept(answer)) == (200, NOT_KEPT)
    assert "x-request-id" in answer.headers


async def test_only_responses_to_trusted_documents_by_get_may_be_cached(table: Table) -> None:
    async with serving(table, TEXTS, apq=True) as client:
        text = await by_get(client, query=VIEW, variables={"id": "42"})
        assert kept(text) == NOT_KEPT
        other = "{ other: __typename }"
        unknown = await by_get(client, **hashed(sha256(other)))
        assert kept(unknown) == NOT_KEPT
        await by_post(client, query=other, **hashed(sha256(other)))
        registered = await by_get(client, **hashed(sha256(other)))
        assert registered.json() == {"data": {"other": "Query"}}
        assert kept(registered) == NOT_KEPT
        posted = await by_post(client, **ASKED)
        assert "cache-control" not in posted.headers
        assert "etag" not in posted.headers
        assert kept(await by_get(client, variables={"id": "42"}, **hashed(sha256(VIEW)))) == KEPT


async def test_refusals_are_not_cached(table: Table) -> None:
    async with serving(table, TEXTS) as client:
        refused = [
            await client.get("/graphql"),
            await by_get(client, documentId="add"),
            await by_get(client, variables="{", documentId="view"),
            await client.get("/graphql", headers={"Accept": "image/png"}),
            await client.get("/graphql", headers={"Authorization": "Bearer x"}),
        ]
    assert [answer.status_code for answer in refused] == [400, 405, 400, 406, 401]
    assert {kept(answer) for answer in refused} == {NOT_KEPT}


async def test_a_response_that_is_too_large_is_not_cached(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.http.graphql.MAX_RESPONSE", 20)
    async with serving(table, TEXTS) as client:
        answer = await by_get(client, **ASKED)
    assert answer.json()["errors"][0]["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert kept(answer) == NOT_KEPT


async def test_the_seconds_of_caching_are_settings_and_0_disables_it(table: Table) -> None:
    async with serving(table, TEXTS, s_maxage=60, stale_while_revalidate=0) as client:
        answer = await by_get(client, **ASKED)
        assert kept(answer) == "public, s-maxage=60, stale-while-revalidate=0"
    async with serving(table, TEXTS, s_maxage=0) as client:
        assert kept(await by_get(client, **ASKED)) == NOT_KEPT


async def test_the_cache_varies_by_origin(table: Table) -> None:
    async with serving(table, TEXTS, cors_origins=["https://shop.example"]) as client:
        for origin in (None, "https://shop.example", "https://other.example"):
            headers = {} if origin is None else {"Origin": origin}
            asked = {"documentId": "view", "variables": json.dumps({"id": "42"})}
            answer = await client.get("/graphql", params=asked, headers=headers)
            assert kept(answer) == KEPT
            assert "Origin" in answer.headers["vary"]


async def test_a_server_of_trusted_documents_runs_and_caches_the_widgets_query(
    table: Table,
) -> None:
    variables = {"productId": "1", "first": 5}
    async with serving(table, documents_only=True) as client:
        answer = await by_get(client, documentId=id_of("widget"), variables=variables)
    assert "data" in answer.json()
    assert kept(answer) == KEPT
