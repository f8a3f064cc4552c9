"""Documents by id and by hash: trusted documents, and documents that clients register."""

import hashlib
import json
import re
import tracemalloc
from itertools import product
from typing import Any

import httpx
import pytest

from dal.dynamodb.errors import StoreUnavailableError
from dal.dynamodb.table import Table
from dal.stores import Stores
from features.trusted_documents import persisted
from features.trusted_documents.documents import TrustedDocuments
from features.trusted_documents.persisted import (
    AUTOMATIC_BYTES,
    REFUSED_SECONDS,
    PersistedDocuments,
)
from features.trusted_documents.repository import DocumentRepository
from features.trusted_documents.settings import DocumentSettings
from schema.build import build_schema
from schema.execution.compiled.operation import _Compiler
from server.http.request import GRAPHQL, JSON, request_of
from tests.calls import calls_of
from tests.features.trusted_documents.serving import serving
from tests.server.serving import ADD, bearer

VIEW = "query View($id: ID!) { product(productId: $id) { productId } }"
VARIABLES = {"id": "42"}
SEEN = {"data": {"product": {"productId": "42"}}}
UNKNOWN = "0" * 64


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def hashed(digest: str) -> dict[str, Any]:
    return {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": digest}}}


async def by_post(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await client.post("/graphql", json=body)


async def by_get(client: httpx.AsyncClient, **given: Any) -> httpx.Response:
    parameters = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in given.items()
    }
    return await client.get("/graphql", params=parameters)


def code_of(answer: httpx.Response) -> str:
    told = answer.json()
    assert list(told) == ["errors"], "nothing has run"
    return str(told["errors"][0]["extensions"]["code"])


WAYS: list[dict[str, Any]] = [
    {"documentId": "view"},
    {"documentId": f"sha256:{sha256(VIEW)}"},
    {"doc_id": "view"},
    {"id": "view"},
    {"id": "view", "query": ""},
    hashed(sha256(VIEW)),
    hashed("view"),
]


@pytest.mark.parametrize("only", [False, True])
async def test_a_request_names_a_trusted_document_by_its_id(table: Table, only: bool) -> None:
    async with serving(table, {"view": VIEW}, documents_only=only) as client:
        for ask, given in product((by_post, by_get), WAYS):
            answer = await ask(client, variables=VARIABLES, operationName="View", **given)
            assert (answer.status_code, answer.json()) == (200, SEEN), (ask, given)


@pytest.mark.parametrize("apq", [False, True])
async def test_an_unknown_document_id_is_an_error(table: Table, apq: bool) -> None:
    async with serving(table, {"view": VIEW}, apq=apq) as client:
        for name, (accept, status) in product(
            ("documentId", "doc_id", "id"), ((GRAPHQL, 400), (JSON, 200))
        ):
            body, headers = {name: "other"}, {"Accept": accept}
            answer = await client.post("/graphql", json=body, headers=headers)
            assert (answer.status_code, code_of(answer)) == (status, "NOT_FOUND"), name
            assert "'other'" in answer.text


FAULTY: list[tuple[dict[str, Any], str]] = [
    ({"documentId": "view", "query": VIEW}, "not both"),
    ({"documentId": 1}, "'documentId' .*string"),
    ({"documentId": ""}, "'query'.*'documentId'"),
    ({"extensions": {"persistedQuery": 1}}, "'sha256Hash'"),
    ({"extensions": {"persistedQuery": {"sha256Hash": 1}}}, "'sha256Hash'"),
]


async def test_a_request_without_an_operation_is_a_bad_request(table: Table) -> None:
    async with serving(table, {"view": VIEW}) as client:
        for body, reason in FAULTY:
            answer = await by_post(client, **body)
            assert (answer.status_code, code_of(answer)) == (400, "BAD_REQUEST"), body
            assert re.search(reason, answer.json()["errors"][0]["message"])


async def test_an_invalid_id_is_refused(table: Table) -> None:
    async with serving(table) as client:
        assert code_of(await by_post(client, documentId="a\x00")) == "BAD_ARGUMENT"


async def test_a_trusted_mutation_needs_post_and_a_jwt(table: Table) -> None:
    comment = {"productId": "7", "rating": 5, "language": "en", "text": "Good."}
    asked = {"documentId": "add", "variables": {"input": comment}}
    async with serving(table, {"add": ADD}, documents_only=True) as client:
        assert (await by_get(client, **asked)).status_code == 405
        refused = (await by_post(client, **asked)).json()
        assert refused["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
        client.headers.update(bearer("ada"))
        added = (await by_post(client, **asked)).json()
    assert added["data"]["addComment"]["comment"]["text"] == "Good."


@pytest.mark.parametrize("ask", [by_post, by_get])
async def test_a_server_of_trusted_documents_executes_no_others(table: Table, ask: Any) -> None:
    async with serving(table, {"view": VIEW}, documents_only=True) as client:
        refused = await ask(client, query="{ __typename }")
        assert code_of(refused) == "UNTRUSTED_DOCUMENT"
        assert code_of(await ask(client, query="{")) == "UNTRUSTED_DOCUMENT"
        beside = await ask(client, query="{ a: __typename }", **hashed(sha256("{ a: __typename }")))
        assert code_of(beside) == "UNTRUSTED_DOCUMENT"
        assert code_of(await ask(client, **hashed(UNKNOWN))) == "PERSISTED_QUERY_NOT_SUPPORTED"
        # A request may also contain the text of a trusted document.
        assert (await ask(client, query=VIEW, variables=VARIABLES)).json() == SEEN


async def test_pages_work_on_a_server_of_trusted_documents(table: Table) -> None:
    async with serving(table, documents_only=True) as client:
        assert (await client.get("/products/42")).status_code == 200


async def test_a_limit_holds_for_a_trusted_document_too(table: Table) -> None:
    text = """query ($first: Int) { leaderboard(first: $first) { nodes { product {
      comments(first: 100) { nodes { product { mostRecentPositive { text } } } } } } } }"""
    async with serving(table, {"a": text}) as client:
        costly = await by_post(client, documentId="a", variables={"first": 100})
        assert code_of(costly) == "QUERY_TOO_COSTLY"
        assert "data" in (await by_post(client, documentId="a", variables={"first": 1})).json()


async def test_a_document_added_to_the_table_is_available_at_once(table: Table) -> None:
    added = "{ added: __typename }"
    async with serving(table, documents_only=True) as client:
        assert code_of(await by_post(client, documentId="added")) == "NOT_FOUND"
        await Stores(table).documents.put({"added": added})
        for _ in range(2):
            answer = await by_post(client, documentId="added")
            assert answer.json() == {"data": {"added": "Query"}}


async def test_every_process_finds_a_new_document_by_text_and_hash(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No client has requested the document by id from the process before.

    A text that was refused is looked up again after some seconds.
    """
    now = [100.0]
    monkeypatch.setattr(persisted, "monotonic", lambda: now[0])
    added = "{ later: __typename }"
    for given in ({"query": added}, hashed(sha256(added)), {"documentId": sha256(added)}):
        async with serving(table, documents_only=True) as client:
            if given == {"query": added}:
                assert code_of(await by_post(client, **given)) == "UNTRUSTED_DOCUMENT"
                await Stores(table).documents.put({"later": added})
                assert code_of(await by_post(client, **given)) == "UNTRUSTED_DOCUMENT"
                now[0] += REFUSED_SECONDS
            answer = await by_post(client, **given)
            assert answer.json() == {"data": {"later": "Query"}}
    assert list((await Stores(table).documents.all()).values()).count(added) == 1


async def test_a_text_that_is_refused_again_and_again_is_looked_up_once(table: Table) -> None:
    texts = [f"{{ no{number}: __typename }}" for number in range(3)]
    async with serving(table, documents_only=True) as client:
        seen = calls_of(table)
        for number in (0, 0, 1, 0, 1, 2, 2):
            assert code_of(await by_post(client, query=texts[number])) == "UNTRUSTED_DOCUMENT"
        assert seen.operations == {"GetItem": 3}


async def test_a_broken_document_in_the_table_is_an_error_and_logged(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    await Stores(table).documents.put({"broken": "{ nothing }"})
    async with serving(table, {"old": "{ gone }", "view": VIEW}) as client:
        assert "Document 'old' cannot be registered: Cannot query field 'gone'" in caplog.text
        answer = await by_post(client, documentId="broken")
        assert code_of(answer) == "BAD_REQUEST"
        assert "does not fit" in answer.text
        assert "Document 'broken' cannot be registered" in caplog.text
        assert (await by_post(client, documentId="view", variables=VARIABLES)).json() == SEEN


async def test_an_unavailable_store_is_reported(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_: object, document_id: str) -> str:
        raise StoreUnavailableError(f"no {document_id}")

    monkeypatch.setattr(DocumentRepository, "text", away)
    async with serving(table, {"view": VIEW}) as client:
        assert code_of(await by_post(client, documentId="other")) == "UNAVAILABLE"
        assert (await by_post(client, documentId="view", variables=VARIABLES)).json() == SEEN


@pytest.mark.parametrize("retry", [by_post, by_get])
async def test_apollo_and_urql_register_unknown_documents(table: Table, retry: Any) -> None:
    """These are exactly the requests of both clients: a hash, then the text with the hash (urql by
    GET), then hashes.
    """
    async with serving(table, apq=True) as client:
        unknown = await by_get(
            client, operationName="View", variables=VARIABLES, **hashed(sha256(VIEW))
        )
        assert unknown.json() == {
            "errors": [
                {
                    "message": "PersistedQueryNotFound",
                    "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND"},
                }
            ]
        }
        hashes = hashed(sha256(VIEW))
        hashes["extensions"]["persistedQuery"]["miss"] = True
        first = await retry(client, query=VIEW, variables=VARIABLES, **hashes)
        assert first.json() == SEEN
        for ask in (by_get, by_post):
            answer = await ask(client, variables=VARIABLES, **hashed(sha256(VIEW)))
            assert answer.json() == SEEN


async def test_a_text_with_the_hash_of_another_text_is_refused(table: Table) -> None:
    async with serving(table, apq=True) as client:
        wrong = await by_post(client, query="{ a: __typename }", **hashed(sha256(VIEW)))
        assert code_of(wrong) == "BAD_REQUEST"
        assert "'sha256Hash'" in wrong.text
        assert code_of(await by_post(client, **hashed(sha256(VIEW)))) == "PERSISTED_QUERY_NOT_FOUND"


async def test_registered_documents_have_a_maximum_size(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert AUTOMATIC_BYTES == 16_000_000
    monkeypatch.setattr("features.trusted_documents.persisted.AUTOMATIC_BYTES", 1_300)
    texts = [f"{{ a{number}: __typename }}" for number in range(4)]
    async with serving(table, apq=True) as client:
        for text in texts:
            await by_post(client, query=text, **hashed(sha256(text)))
        first, last = [(await by_post(client, **hashed(sha256(one)))) for one in (texts[0], text)]
    assert code_of(first) == "PERSISTED_QUERY_NOT_FOUND"
    assert last.json() == {"data": {"a3": "Query"}}


async def test_many_short_texts_need_no_more_memory_than_long_ones(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("features.trusted_documents.persisted.AUTOMATIC_BYTES", 1_000_000)
    trusted = TrustedDocuments(build_schema().documents)
    documents = PersistedDocuments(DocumentSettings(apq=True), trusted, Stores(table).documents)
    tracemalloc.start()
    try:
        for number in range(5_000):
            text = f"{{a{number}}}"
            await documents.find(request_of({"query": text, **hashed(sha256(text))}))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 1_000_000


async def test_a_too_long_text_does_not_evict_a_registered_document(table: Table) -> None:
    async with serving(table, apq=True) as client:
        await by_post(client, query="{ __typename }", **hashed(sha256("{ __typename }")))
        for number in range(17):
            text = f"#{number}".ljust(950_000)
            refused = await by_post(client, query=text, **hashed(sha256(text)))
            assert code_of(refused) == "BAD_REQUEST"
        answer = await by_post(client, **hashed(sha256("{ __typename }")))
    assert answer.json() == {"data": {"__typename": "Query"}}


async def test_clients_cannot_register_texts_by_id(table: Table) -> None:
    async with serving(table, apq=True) as client:
        await by_post(client, query=VIEW, variables=VARIABLES, **hashed(sha256(VIEW)))
        assert code_of(await by_post(client, documentId=sha256(VIEW))) == "NOT_FOUND"


async def test_plain_execution_has_equal_results(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trusted document is usually compiled for its first request."""

    def refuse(*_: object) -> None:
        raise AssertionError("It was compiled.")

    monkeypatch.setattr(_Compiler, "root", refuse)
    async with serving(table, {"view": VIEW}, compiles=False) as client:
        assert (await by_post(client, documentId="view", variables=VARIABLES)).json() == SEEN


@pytest.mark.parametrize("shown", [True, False])
async def test_with_trusted_documents_only_the_schema_is_hidden_unless_it_is_served(
    table: Table, shown: bool
) -> None:
    async with serving(table, documents_only=True, serve_schema=shown) as client:
        answer = await client.get("/schema.graphql")
    assert answer.status_code == (200 if shown else 404)
