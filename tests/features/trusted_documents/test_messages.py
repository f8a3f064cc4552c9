"""The sentences of trusted documents."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from graphql import GraphQLError

from features.trusted_documents.documents import TrustedDocuments
from features.trusted_documents.manifests import read_manifests
from features.trusted_documents.persisted import PersistedDocuments
from features.trusted_documents.settings import DocumentSettings
from schema.build import build_schema
from server.errors import CommandError
from server.http.request import request_of
from server.settings import Settings
from tests.server.serving import called

FILE = Path("file")


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
