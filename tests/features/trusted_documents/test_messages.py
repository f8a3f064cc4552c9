"""The sentences of trusted documents."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from graphql import GraphQLError

from features.trusted_documents.document_files import read_manifests
from features.trusted_documents.documents import TrustedDocuments
from features.trusted_documents.persisted import PersistedDocuments
from features.trusted_documents.settings import DocumentSettings
from schema.build import build_schema
from server.errors import CommandError
from server.http.request import request_of
from server.settings import Settings
from tests.server.serving import called

FILE = Path("file")
DOCUMENT = '{"a": "query A { product(productId: 1) { title lastCommentedAt } }"}'


def manifest(content: str) -> object:
    FILE.write_text(content)
    return read_manifests([FILE])


MESSAGES: list[tuple[Callable[[], object], str]] = [
    (
        lambda: manifest("{"),
        ("The manifest file is not valid JSON: unexpected end of data: line 1 column 2 (char 1)."),
    ),
    (lambda: manifest("[]"), "The manifest file must be a JSON object with a text for each id."),
    (
        lambda: manifest('{"a": 1}'),
        (
            "file: the document 'a' needs an id and a text, as in Relay's persisted queries "
            "or Apollo's manifest."
        ),
    ),
    (
        lambda: manifest('{"format": "x"}'),
        "file is not a manifest of format 'apollo-persisted-query-manifest', version 1.",
    ),
    (
        lambda: manifest('{"format": "apollo-persisted-query-manifest", "version": 1}'),
        "file has no list of 'operations'.",
    ),
    (
        lambda: Settings(apq=True, documents_only=True),
        "--apq and --documents-only cannot be used together: remove one of them.",
    ),
    (
        lambda: Settings(federation=True, documents_only=True),
        (
            "--federation and --documents-only cannot be used together, because a gateway writes "
            "its own documents: remove one of them."
        ),
    ),
]


@pytest.mark.parametrize(("call", "sentence"), MESSAGES, ids=[text for _, text in MESSAGES])
def test_a_message(
    call: Callable[[], object], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError) as caught:
        call()
    assert str(caught.value) == sentence


def test_a_document_that_cannot_be_registered_has_a_sentence() -> None:
    trusted = TrustedDocuments(build_schema().documents)
    assert trusted.add_all({"a": "fragment B on Query { __typename }"}) == [
        "Document 'a' cannot be registered: Fragment 'B' is never used. (line 1, column 1)"
    ]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            DocumentSettings(documents_only=True),
            "This server runs only registered documents: send a document's id in 'documentId'.",
        ),
        (DocumentSettings(apq=True), "'sha256Hash' is not the SHA-256 of the text in 'query'."),
    ],
)
async def test_a_refused_document_has_a_sentence(settings: DocumentSettings, sentence: str) -> None:
    class Nothing:
        async def holds(self, _: str) -> bool:
            return False

    documents = PersistedDocuments(
        settings,
        TrustedDocuments(build_schema().documents),
        cast("Any", Nothing()),
    )
    extensions = {"persistedQuery": {"sha256Hash": "0" * 64}}
    given = request_of({"query": "{ __typename }", "extensions": extensions})
    with pytest.raises(GraphQLError) as caught:
        await documents.find(given)
    assert caught.value.message == sentence


def test_commands_on_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = called("serve", "--documents-only", "--port", "0")
    assert refused.stderr.splitlines()[-1] == (
        "marginalia: --documents-only allows only registered documents, but no document is "
        "registered: name a manifest with --documents, or run `marginalia documents add` first."
    )
    called("table", "create")
    FILE.write_text('{"a": "{ __typename }"}')
    assert called("documents", "add", FILE).stdout == (
        "1 of 1 documents are new. Clients can request all of them by id.\n"
    )


PRICES = [
    ("empty.json", "{}", (), 2, "empty.json: no operation found. Name a file that has one."),
    (
        "a.json",
        '{"a": "{ nothing }"}',
        (),
        2,
        (
            "Document 'a' cannot be priced: Cannot query field 'nothing' on type 'Query'. (line 1, "
            "column 3)"
        ),
    ),
    (
        "a.gql",
        "{",
        (),
        2,
        (
            "a.gql has no valid GraphQL: Syntax Error: Expected Name, found <EOF>. (line 1, "
            "column 2)"
        ),
    ),
    (
        "a.json",
        DOCUMENT,
        ("--variables", '{"x": 1}'),
        2,
        "No operation has the variable $x: see --variables.",
    ),
    (
        "a.json",
        DOCUMENT,
        ("--variables", "none"),
        2,
        "--variables: none cannot be read: No such file or directory.",
    ),
    (
        "a.json",
        DOCUMENT,
        ("--variables", "{"),
        2,
        (
            "--variables: { is not valid JSON: Expecting property name enclosed in double quotes: "
            "line 1 column 2 (char 1)."
        ),
    ),
    (
        "a.json",
        "[]",
        ("--variables", "a.json"),
        2,
        "--variables: a.json must be a JSON object with a value for each name.",
    ),
    (
        "a.graphql",
        "query A { __typename } query A { openOrders { nodes { id } } }",
        (),
        2,
        (
            "a.graphql has operations with the same name, or several without a name: give each "
            "operation its own name."
        ),
    ),
    (
        "a.json",
        DOCUMENT,
        ("--max-rcu", "1", "--max-usd", "1"),
        1,
        (
            "query A (a) may cost 66 RCU; the maximum is 1. query A (a) may cost 8.25 USD for a "
            "million calls; the maximum is 1.00."
        ),
    ),
    (
        "a.json",
        DOCUMENT,
        ("--against", "old.json"),
        1,
        (
            "Document 'gone' is not compared: Cannot query field 'nothing' on type 'Query'. (line "
            "1, column 3)\nquery A (a) costs 66 RCU, but 0 RCU in --against."
        ),
    ),
]


@pytest.mark.parametrize(("name", "content", "options", "code", "sentence"), PRICES)
def test_prices(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str,
    options: tuple[str, ...],
    code: int,
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(content)
    Path("old.json").write_text('{"a": "query A { __typename }", "gone": "{ nothing }"}')
    outcome = called("documents", "price", name, *options)
    assert outcome.returncode == code
    said = outcome.stderr.replace("marginalia: ", "")
    assert said == f"{sentence}\n"


def test_the_notes_of_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.graphql").write_text(
        """mutation A { __typename }
        subscription B { commentEvents(productId: 1) { cursor } }
        query C { product(productId: 1) { trend(interval: DAY) { points { start } } } }
        query D { leaderboard(first: 100) { nodes { product {
          lastCommentedAt a: lastCommentedAt b: lastCommentedAt } } } }"""
    )
    outcome = called("documents", "price", "a.graphql")
    assert outcome.stdout.splitlines()[-4:] == [
        "A mutation also writes. Its WCU are not predicted, and its price lacks them.",
        "A subscription's figures are the cost of each event.",
        "The price lacks queries to the analytics store.",
        (
            "The server refuses query D (a.graphql) with these variables: The usual cost of the "
            "operation is about 302 requests to DynamoDB; the maximum is 250: select fewer rows or "
            "fewer lists at a time."
        ),
    ]
