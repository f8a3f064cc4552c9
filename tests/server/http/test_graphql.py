"""GraphQL over HTTP: which requests are executed, and the response for each media type."""

import json
import re
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from server.http.request import GRAPHQL, JSON
from tests.server.serving import ADD, bearer

HTML = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
VIEW = "query View($id: ID!) { product(productId: $id) { productId } }"
VARIABLES = json.dumps({"id": "42"})
SEEN = {"data": {"product": {"productId": "42"}}}
COMMENT = {"productId": "44", "rating": 5, "language": "en", "text": "Good."}


async def got(
    client: httpx.AsyncClient, headers: dict[str, str] | None = None, **parameters: str
) -> httpx.Response:
    return await client.get("/graphql", params=parameters, headers=headers)


async def posted(client: httpx.AsyncClient, accept: str, **body: Any) -> httpx.Response:
    return await client.post("/graphql", json=body, headers={"Accept": accept})


async def test_a_query_runs_by_get(client: httpx.AsyncClient) -> None:
    answer = await got(
        client, query=VIEW, variables=VARIABLES, operationName="View", extensions='{"a": 1}'
    )
    assert (answer.status_code, answer.json()) == (200, SEEN)
    assert answer.headers["content-type"] == JSON
    assert answer.headers["vary"] == "Accept"


async def test_urqls_default_client_is_answered(client: httpx.AsyncClient) -> None:
    """The request is exactly that of urql's fetchExchange."""
    answer = await client.get(
        "/graphql?query=query+View%28%24id%3A+ID%21%29+%7B%0A++product%28productId%3A+%24id%29"
        "+%7B%0A++++productId%0A++%7D%0A%7D&operationName=View&variables=%7B%22id%22%3A%2242%22%7D",
        headers={
            "Accept": f"{GRAPHQL}, application/graphql+json, {JSON}, text/event-stream, "
            "multipart/mixed",
            "Accept-Language": "*",
            "Sec-Fetch-Mode": "cors",
        },
    )
    assert (answer.status_code, answer.json()) == (200, SEEN)
    assert answer.headers["content-type"] == GRAPHQL


async def test_head_is_a_get_without_its_body(client: httpx.AsyncClient) -> None:
    answer = await client.head(f"/graphql?{urlencode({'query': '{ __typename }'})}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, JSON)


async def test_an_empty_parameter_counts_as_missing(client: httpx.AsyncClient) -> None:
    answer = await got(
        client, query="{ __typename }", variables="", operationName="", extensions=""
    )
    assert answer.json() == {"data": {"__typename": "Query"}}


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, "'query'"),
        ({"query": ""}, "'query'"),
        ({"query": "{ __typename }", "variables": "{"}, "'variables' .*JSON"),
        ({"query": "{ __typename }", "variables": "[]"}, "'variables' .*object"),
        ({"query": "{ __typename }", "extensions": "1"}, "'extensions' .*object"),
    ],
)
async def test_a_get_without_an_operation_gets_an_error(
    client: httpx.AsyncClient, parameters: dict[str, str], reason: str
) -> None:
    answer = await got(client, None, **parameters)
    assert answer.status_code == 400
    assert re.search(reason, answer.json()["errors"][0]["message"])


@pytest.mark.parametrize("accept", [GRAPHQL, JSON])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_mutation_by_get_is_refused(
    client: httpx.AsyncClient, accept: str, method: str
) -> None:
    headers = {"Accept": accept, **bearer("ada")}
    parameters = {"query": ADD, "variables": json.dumps({"input": COMMENT})}
    answer = await client.request(method, "/graphql", params=parameters, headers=headers)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    count = '{ product(productId: "44") { comments { totalCount } } }'
    told = (await got(client, query=count)).json()
    assert told["data"]["product"]["comments"] == {"totalCount": 0}


async def test_only_the_named_operation_of_a_document_runs(
    client: httpx.AsyncClient,
) -> None:
    both = ADD.replace("mutation (", "mutation Add(") + " query Look { __typename }"
    answer = await got(client, query=both, operationName="Look")
    assert answer.json() == {"data": {"__typename": "Query"}}
    refused = await got(client, query=both, operationName="Add")
    assert refused.status_code == 405


async def test_graphql_ignores_the_cookie_of_a_session(client: httpx.AsyncClient) -> None:
    jwt = bearer("ada")["Authorization"].removeprefix("Bearer ")
    headers = {"Cookie": f"marginalia_jwt={jwt}"}
    answer = await got(client, headers, query='{ user(username: "ada") { username } }')
    assert answer.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_post_never_receives_graphiql(client: httpx.AsyncClient) -> None:
    answer = await posted(client, HTML["Accept"], query="{ __typename }")
    assert answer.headers["content-type"] == JSON


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_an_unsupported_media_type_is_not_acceptable(
    client: httpx.AsyncClient, method: str
) -> None:
    answer = await client.request(method, "/graphql", headers={"Accept": "image/png"})
    assert answer.status_code == 406
    assert GRAPHQL in answer.json()["errors"][0]["message"]


COSTLY = "".join(
    f"a{number}: leaderboard(first: 100) {{ nodes {{ product {{ comments(first: 100) "
    f"{{ nodes {{ text }} }} }} }} }} "
    for number in range(20)
)
REQUEST_ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"query": "{"}, "BAD_REQUEST"),
    ({"query": "{ nothing }"}, "BAD_REQUEST"),
    ({"query": "subscription { a }"}, "BAD_REQUEST"),
    ({"query": "fragment F on Query { __typename }"}, "BAD_REQUEST"),
    ({"query": "query A { __typename } query B { __typename }"}, "BAD_REQUEST"),
    ({"query": "query A { __typename }", "operationName": "B"}, "BAD_REQUEST"),
    ({"query": VIEW}, "BAD_REQUEST"),
    ({"query": VIEW, "variables": {"id": ["42"]}}, "BAD_REQUEST"),
    ({"query": '{ comment(commentId: "\\ud800") { text } }'}, "BAD_REQUEST"),
    ({"query": '{ node(id: "1") { ' + "a { " * 500}, "BAD_REQUEST"),
    ({"query": f"{{ {COSTLY} }}"}, "QUERY_TOO_COSTLY"),
]


@pytest.mark.parametrize(("body", "code"), REQUEST_ERRORS)
@pytest.mark.parametrize(("accept", "status"), [(GRAPHQL, 400), (JSON, 200), ("*/*", 200)])
async def test_a_request_error_has_no_data(
    client: httpx.AsyncClient, body: dict[str, Any], code: str, accept: str, status: int
) -> None:
    answer = await posted(client, accept, **body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == accept.replace("*/*", JSON)
    told = answer.json()
    assert list(told) == ["errors"]
    assert told["errors"][0]["extensions"]["code"] == code


@pytest.mark.parametrize("accept", [GRAPHQL, JSON])
async def test_a_failed_field_leaves_the_other_data(client: httpx.AsyncClient, accept: str) -> None:
    query = '{ product(productId: "42") { comments(after: "nonsense") { totalCount } } }'
    answer = await posted(client, accept, query=query)
    assert answer.status_code == 200
    assert answer.json()["errors"][0]["extensions"]["code"] == "BAD_CURSOR"
    assert "data" in answer.json()


async def test_an_internal_error_before_execution_is_a_500(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr("schema.execution.cost.predicted")
    answer = await posted(client, GRAPHQL, query="{ asked: __typename }")
    assert answer.status_code == 500
    assert answer.json()["errors"][0]["extensions"]["code"] == "INTERNAL"
    assert "predicted" in caplog.text
    assert "predicted" not in answer.text


HASH = {"persistedQuery": {"version": 1, "sha256Hash": "60ec409dc5d8a06de6a12519341bca48d53cc802"}}
NEW_APOLLO = f"{GRAPHQL},{JSON};q=0.9"


@pytest.mark.parametrize(
    ("accept", "library", "status"),
    [("*/*", {}, 200), (NEW_APOLLO, {"clientLibrary": {"name": "@apollo/client"}}, 400)],
)
@pytest.mark.parametrize("by_get", [False, True])
async def test_for_an_unknown_hash_apollos_link_sends_the_text(
    client: httpx.AsyncClient, accept: str, library: dict[str, Any], status: int, by_get: bool
) -> None:
    """The requests are exactly the first ones of Apollo's link in releases 3 and 4."""
    extensions = {**library, **HASH}
    headers = {"Accept": accept, "Content-Type": JSON}
    if by_get:
        parameters = {"operationName": "A", "variables": "{}", "extensions": json.dumps(extensions)}
        answer = await client.get("/graphql", params=parameters, headers=headers)
    else:
        body = {"operationName": "A", "variables": {}, "extensions": extensions}
        answer = await client.post("/graphql", json=body, headers=headers)
    assert answer.status_code == status
    assert answer.json() == {
        "errors": [
            {
                "message": "PersistedQueryNotSupported",
                "extensions": {"code": "PERSISTED_QUERY_NOT_SUPPORTED"},
            }
        ]
    }


async def test_a_text_with_its_hash_is_executed(client: httpx.AsyncClient) -> None:
    answer = await posted(client, "*/*", query="{ __typename }", extensions=HASH)
    assert answer.json() == {"data": {"__typename": "Query"}}
