"""The Lambda handler answers events of each source like a server, but without pages."""

import asyncio
import gzip
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from unittest import mock
from urllib.parse import urlencode

import pytest
from mangum import Mangum
from strawberry.relay import to_base64

from dal.counts.boards import Boards
from dal.dynamodb.errors import NoTableError, StoreUnavailableError
from dal.dynamodb.table import Table
from dal.stores import Stores
from dal.writes import comments as comments_module
from features.lambda_serving import handler as module
from features.lambda_serving.handler import Function, settings_of_environment
from features.votes.entity import all_votes
from schema.execution.executable_schema import MAX_RESPONSE
from server.errors import CommandError
from server.settings import Settings
from tests.features.lambda_serving.requests import SOURCES, Event, content, event, operation
from tests.putting import put_comments
from tests.recount import check, comments_of, expected, stored
from tests.server.serving import AWS, SECRET, bearer, environment
from tests.strategies import comment

Answer = Callable[[Event], Awaitable[Event]]

TOTAL = '{ product(productId: "42") { statistics { total } } }'
ADD = (
    'mutation { addComment(input: {productId: "42", rating: 5, language: "en", title: "Tea", '
    'text: "Good", idempotencyKey: "k"}) { comment { rating } userErrors { code } } }'
)


def settings_with(table: Table, **variables: str) -> Settings:
    """Return the settings that a function for a table reads from its environment."""
    url = str(table.service.endpoint_url)
    given = {"MARGINALIA_ENDPOINT_URL": url, "MARGINALIA_TABLE": table.name} | variables
    with mock.patch.dict(os.environ, environment(**given), clear=True):
        return settings_of_environment()


@pytest.fixture
async def answer(table: Table, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Answer]:
    """A function that returns the handler's result for an event."""
    for name, value in AWS.items():
        monkeypatch.setenv(name, value)
    # The handler's event loop belongs to a thread.
    with ThreadPoolExecutor(1) as thread:
        run = asyncio.get_running_loop().run_in_executor
        function = Function(settings_with(table, MARGINALIA_JWT_SECRET=SECRET))

        async def answered(one: Event) -> Event:
            # Lambda passes both as JSON.
            given = json.loads(json.dumps(one))
            found = await run(thread, function.answer, given, None)
            assert (
                await run(thread, lambda: asyncio.all_tasks(function._runner.get_loop())) == set()
            )
            return dict(json.loads(json.dumps(found)))

        yield answered
        await run(thread, function.close)


@pytest.mark.parametrize("source", SOURCES)
async def test_each_source_queries_and_writes(source: str, table: Table, answer: Answer) -> None:
    added = await answer(operation(source, ADD, **bearer("ann")))
    assert (added["statusCode"], added["isBase64Encoded"]) == (200, False)
    assert added["headers"]["content-type"] == "application/json"
    expected = {"addComment": {"comment": {"rating": 5}, "userErrors": []}}
    assert json.loads(added["body"]) == {"data": expected}
    assert [one.username for one in await check(table, "42")] == ["ann"]

    asked = json.dumps({"query": TOTAL}).encode()
    results = [
        await answer(operation(source, TOTAL)),
        await answer(event(source, "POST", "/graphql", asked)),
        await answer(event(source, "GET", f"/graphql?{urlencode({'query': TOTAL})}")),
        await answer(operation(source, TOTAL, accept="application/graphql-response+json")),
    ]
    total = {"data": {"product": {"statistics": {"total": 1}}}}
    assert [json.loads(content(one)) for one in results] == [total] * 4
    assert not any(one["isBase64Encoded"] for one in results)


@pytest.mark.parametrize("source", SOURCES)
async def test_pages_graphiql_and_subscriptions_are_off(source: str, answer: Answer) -> None:
    browser = {"accept": "text/html"}
    statuses = {
        path: (await answer(event(source, "GET", path, headers=browser)))["statusCode"]
        for path in ("/", "/graphql", "/widget.js", "/health/live", "/schema.graphql")
    }
    assert statuses == {
        "/": 404,
        "/graphql": 406,
        "/widget.js": 404,
        "/health/live": 200,
        "/schema.graphql": 200,
    }
    subscription = 'subscription { commentEvents(productId: "42") { __typename } }'
    for accept in ("application/json", "text/event-stream, application/json"):
        refused = await answer(operation(source, subscription, accept=accept))
        (error,) = json.loads(content(refused))["errors"]
        assert error["extensions"]["code"] == "BAD_REQUEST"
    cursor = '{ product(productId: "42") { comments { eventCursor } } }'
    listed = json.loads((await answer(operation(source, cursor)))["body"])
    assert listed == {"data": {"product": {"comments": {"eventCursor": None}}}}


async def test_work_that_failed_is_done_by_the_next_event(
    table: Table, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failed(_: Boards, __: str) -> bool:
        raise StoreUnavailableError("away")

    with monkeypatch.context() as patch:
        patch.setattr(Boards, "work", failed)
        await answer(operation("url", ADD, **bearer("ann")))
    comments = await comments_of(Stores(table).comments, "42")
    assert await stored(table, "42") != expected("42", comments)
    await answer(operation("url", "{ __typename }"))
    assert await stored(table, "42") == expected("42", comments)


async def test_the_data_of_a_deleted_comment_is_removed_before_the_answer(
    table: Table, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comments_module, "_REMOVAL_SECONDS", 0)
    await put_comments(Stores(table).comments, [comment("c", username="ann", rating=3)])
    await Stores(table).votes.mark("c", "bob")
    deletion = f'mutation {{ deleteComment(input: {{id: "{to_base64("Comment", "c")}"}}) '
    deletion += "{ deletedId userErrors { code } } }"
    deleted = json.loads((await answer(operation("url", deletion, **bearer("ann"))))["body"])
    assert deleted["data"]["deleteComment"]["deletedId"] is not None
    assert (await table.query(all_votes("c"))).items == []


async def test_requests_without_a_valid_jwt_are_refused_like_by_a_server(answer: Answer) -> None:
    refused = await answer(operation("url", ADD, authorization="Bearer x"))
    assert refused["statusCode"] == 401
    anonymous = json.loads((await answer(operation("url", ADD)))["body"])
    assert anonymous["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


@pytest.mark.parametrize("source", SOURCES)
async def test_a_large_answer_is_compressed(source: str, table: Table, answer: Answer) -> None:
    await fill(table, 20)
    query = '{ product(productId: "1") { comments(first: 100) { nodes { text } } } }'
    plain = await answer(operation(source, query))
    packed = await answer(operation(source, query, accept_encoding="gzip"))
    assert packed["isBase64Encoded"]
    assert packed["headers"]["content-encoding"] == "gzip"
    assert gzip.decompress(content(packed)) == content(plain)


async def test_an_answer_that_is_too_large_for_lambda_is_an_error(
    table: Table, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.MAX_ANSWER < 6 * 1024 * 1024 < MAX_RESPONSE
    await fill(table, 20)
    query = '{ product(productId: "1") { comments(first: 100) { nodes { text } } } }'
    sent = len(json.dumps(await answer(operation("url", query))))
    monkeypatch.setattr(module, "MAX_ANSWER", sent - 1)
    refused = json.loads((await answer(operation("url", query)))["body"])
    assert refused["errors"][0]["extensions"]["code"] == "QUERY_TOO_COSTLY"
    monkeypatch.setattr(module, "MAX_ANSWER", 100)
    packed = await answer(operation("url", query, accept_encoding="gzip"))
    assert json.loads(content(packed)) == refused
    assert {"x-request-id", "content-type", "vary"} <= packed["headers"].keys()
    assert "content-encoding" not in packed["headers"]
    monkeypatch.setattr(module, "MAX_ANSWER", sent)
    assert "errors" not in json.loads((await answer(operation("url", query)))["body"])


async def fill(table: Table, number: int) -> None:
    """Store comments whose texts compress well."""
    rows = [comment(f"c{one}", product_id="1", text="tea " * 100) for one in range(number)]
    await put_comments(Stores(table).comments, rows)


async def test_only_a_clock_that_missed_time_opens_the_application_again(table: Table) -> None:
    def opened() -> list[Mangum | None]:
        function, found = Function(settings_with(table)), list[Mangum | None]()
        for sent in (0, time.time(), time.time() + 60, time.time() + 60):
            asked = operation("url", TOTAL)
            asked["requestContext"]["timeEpoch"] = int(1000 * sent)
            assert "errors" not in json.loads(function.answer(asked, None)["body"])
            found.append(function._adapter)
        function.close()
        return found

    with mock.patch.dict(os.environ, AWS):
        first, second, third, fourth = await asyncio.to_thread(opened)
    assert first is second is not third is fourth


async def test_a_missing_table_fails_each_event_until_it_exists(table: Table) -> None:
    def twice() -> None:
        function = Function(settings_with(table, MARGINALIA_TABLE="absent"))
        for _ in range(2):
            with pytest.raises(NoTableError):
                function.answer(operation("url", TOTAL), None)
        function.close()

    with mock.patch.dict(os.environ, AWS):
        await asyncio.to_thread(twice)


def test_settings_come_from_variables(table: Table) -> None:
    given = {
        "MARGINALIA_CORS_ORIGIN": "https://a.example https://b.example",
        "MARGINALIA_DEADLINE": "3",
        "MARGINALIA_INTROSPECTION": "false",
        "MARGINALIA_JWKS_URL": "",
        "MARGINALIA_RATE_LIMIT": "5/s",
    }
    found = settings_with(table, **given)
    assert found.cors_origins == ["https://a.example", "https://b.example"]
    assert (found.deadline, found.introspection, found.jwks_url) == (3.0, False, None)
    assert (found.rate_limit, found.allowed_hosts) == ("off", ("*",))
    with pytest.raises(CommandError):
        settings_with(table, MARGINALIA_JWT_ISSUER="https://login.shop.example")


def test_without_an_endpoint_the_table_is_amazons() -> None:
    with mock.patch.dict(os.environ, environment(), clear=True):
        assert settings_of_environment().aws


def test_variables_of_the_stack_are_split_and_unknown_ones_are_named(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    stack = "MARGINALIA_DEADLINE=3,MARGINALIA_TABLE=other,MARGINALIA_DOCUMENT_ONLY=true"
    found = settings_with(table, MARGINALIA_FUNCTION_VARIABLES=stack)
    assert (found.deadline, found.table) == (3.0, table.name)
    (warning,) = caplog.messages
    assert "MARGINALIA_DOCUMENT_ONLY" in warning


@pytest.mark.parametrize("source", SOURCES)
async def test_a_browsers_preflight_is_answered(source: str, table: Table) -> None:
    def ask() -> Event:
        function = Function(settings_with(table, MARGINALIA_CORS_ORIGIN="https://shop.example"))
        headers = {
            "origin": "https://shop.example",
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization",
        }
        answer = function.answer(event(source, "OPTIONS", "/graphql", headers=headers), None)
        function.close()
        return answer

    with mock.patch.dict(os.environ, AWS):
        answer = await asyncio.to_thread(ask)
    assert answer["statusCode"] == 200
    assert answer["headers"]["access-control-allow-origin"] == "https://shop.example"
