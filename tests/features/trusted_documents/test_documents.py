"""Trusted documents: registered documents run, and an error explains why another is refused."""

import pytest

from dal.dynamodb.account import MAX_REQUESTS
from features.trusted_documents.documents import (
    TRUSTED_CHARACTERS,
    TrustedDocuments,
)
from features.trusted_documents.repository import hash_of
from schema.build import build_schema

TYPENAME = "{ __typename }"
NESTED = """{ leaderboard(first: 100) { nodes { product { comments(first: 100) {
  nodes { text product { mostRecentPositive { text } } } } } } } }"""


@pytest.fixture
def trusted() -> TrustedDocuments:
    return TrustedDocuments(build_schema().documents)


def test_a_trusted_document_is_found_by_its_id_and_by_its_hash(trusted: TrustedDocuments) -> None:
    trusted.add("page", TYPENAME)
    digest = hash_of(TYPENAME)
    for document_id in ("page", digest, f"sha256:{digest}"):
        assert trusted.text(document_id) == TYPENAME
    assert trusted.holds(TYPENAME)
    assert trusted.text("other") is None
    assert not trusted.holds("{ a: __typename }")


def test_an_id_with_the_prefix_sha256_is_the_hash(trusted: TrustedDocuments) -> None:
    trusted.add(f"sha256:{hash_of(TYPENAME)}", TYPENAME)
    assert trusted.text(hash_of(TYPENAME)) == TYPENAME
    assert "SHA-256" in (trusted.add(f"sha256:{hash_of('x')}", TYPENAME) or "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Syntax Error: Unexpected <EOF>. (line 1, column 1)"),
        ("{ produkt }", "Cannot query field 'produkt' on type 'Query'."),
        ("query A { __typename } fragment B on Query { __typename }", "Fragment 'B' is never used"),
        ("fragment B on Query { __typename }", "Fragment 'B' is never used"),
        ("{ " + "a: __typename " * 400 + "}", "1,000 lexical units"),
        (f"# {'x' * 20_000}\n{TYPENAME}", "20,000"),
        ('{ node(id: "1") { ' * 12 + "id" + " }" * 12 + "}", "Syntax Error"),
        (NESTED, f"is {MAX_REQUESTS}"),
        ("{ " + " ".join(f"a{n}: __typename" for n in range(31)) + " }", "31 aliases"),
    ],
)
def test_a_document_that_can_never_run_is_refused_with_its_id_and_the_reason(
    trusted: TrustedDocuments, text: str, reason: str
) -> None:
    (told,) = trusted.add_all({"a": text})
    assert "'a'" in told
    assert reason in told
    assert not trusted.holds(text)
    assert trusted.text("a") is None


def test_limits_that_depend_on_variables_are_checked_at_each_request(
    trusted: TrustedDocuments,
) -> None:
    text = NESTED.replace("{", "query ($first: Int) {", 1).replace("first: 100", "first: $first")
    assert trusted.add_all({"a": text}) == []


def test_all_broken_documents_are_reported_and_the_others_are_registered(
    trusted: TrustedDocuments,
) -> None:
    told = trusted.add_all({"a": "{ x }", "b": TYPENAME, "c": "{"})
    assert [sentence.split()[1] for sentence in told] == ["'a'", "'c'"]
    assert trusted.text("b") == TYPENAME


def test_the_text_of_an_id_never_changes(trusted: TrustedDocuments) -> None:
    trusted.add("a", TYPENAME)
    trusted.add("a", TYPENAME)
    (told,) = trusted.add_all({"a": "{ b: __typename }"})
    assert "another text" in told
    assert trusted.text("a") == TYPENAME


def test_the_total_size_of_trusted_documents_is_limited(
    trusted: TrustedDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TRUSTED_CHARACTERS == 16_000_000
    monkeypatch.setattr("features.trusted_documents.documents.TRUSTED_CHARACTERS", 20)
    trusted.add("a", TYPENAME)
    (told,) = trusted.add_all({"b": "{ b: __typename }"})
    assert "20 characters at most" in told


def test_documents_of_clients_do_not_evict_trusted_documents(trusted: TrustedDocuments) -> None:
    documents = trusted._documents
    trusted.add("a", TYPENAME)
    parsed = documents.checked(TYPENAME)
    for number in range(60):
        documents.checked(f"{{ {'__typename ' * 900} }} # {number}")
    assert documents.checked(TYPENAME) is parsed


def test_a_trusted_document_beyond_the_memory_limit_is_read_on_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("schema.execution.documents.TRUSTED_BYTES", 20_000)
    documents = build_schema().documents
    trusted = TrustedDocuments(documents)
    texts = {str(number): f"{TYPENAME} # {number}" for number in range(9)}
    assert trusted.add_all(texts) == []
    assert documents._trusted.currsize <= 20_000
    assert texts["0"] not in documents._trusted
    assert trusted.text("0") == texts["0"]
    assert texts["0"] in documents._trusted
