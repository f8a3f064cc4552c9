"""``marginalia documents``: stored, listed and refused documents, and running servers."""

import json
import re
from pathlib import Path

import httpx
import pytest

from tests.server.serving import called, served

TEXTS = {"page": "query Page { __typename }", "both": "query A { __typename } mutation B { x }"}


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    file = tmp_path / "relay.json"
    file.write_text(json.dumps({"page": TEXTS["page"]}))
    return file


def test_documents_are_added_and_listed(tmp_path: Path, manifest: Path) -> None:
    store = {"MARGINALIA_DATA_DIR": str(tmp_path / "data")}
    called("table", "create", **store)
    added = called("documents", "add", manifest, **store)
    assert (added.returncode, added.stderr) == (0, "")
    assert added.stdout.startswith("1 of 1 ")
    assert called("documents", "add", manifest, **store).stdout.startswith("0 of 1")
    listed = called("documents", "list", **store).stdout
    assert "1 documents" in listed
    assert "query Page" in listed


def test_nothing_is_added_if_one_document_is_broken(tmp_path: Path, manifest: Path) -> None:
    store = {"MARGINALIA_DATA_DIR": str(tmp_path / "data")}
    called("table", "create", **store)
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(TEXTS | {"c": "{"}))
    outcome = called("documents", "add", manifest, broken, **store)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.count("cannot be registered: ") == 2
    assert "'both'" in outcome.stderr
    assert "'c'" in outcome.stderr
    assert "0 documents" in called("documents", "list", **store).stdout
    missing = called("documents", "add", tmp_path / "none.json", **store)
    assert "none.json cannot be read" in missing.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_refuses_broken_manifests(tmp_path: Path, workers: str) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"a": "{ produkt }"}))
    options = ("--data-dir", tmp_path / "data", "--port", "0", "--workers", workers)
    outcome = called("serve", *options, MARGINALIA_DOCUMENTS=str(broken))
    assert outcome.returncode == 2
    assert outcome.stderr.startswith(
        "marginalia: Document 'a' cannot be registered: Cannot query field 'produkt'"
    )


def test_options_that_exclude_each_other_are_refused() -> None:
    for option in ("--apq", "--federation"):
        outcome = called("serve", option, "--documents-only")
        assert outcome.returncode == 2
        assert outcome.stderr.startswith(f"marginalia: {option} and --documents-only ")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_of_trusted_documents_without_any_does_not_start(
    tmp_path: Path, workers: str
) -> None:
    place = ("--port", "0", "--data-dir", tmp_path, "--workers", workers)
    outcome = called("serve", "--documents-only", *place)
    assert outcome.returncode == 2
    last = outcome.stderr.splitlines()[-1]
    assert re.match(".* --documents-only .* --documents, .*`marginalia documents add`", last)


def test_a_running_server_has_added_documents(tmp_path: Path, manifest: Path) -> None:
    later = tmp_path / "later.json"
    later.write_text(json.dumps({"later": "{ later: __typename }"}))
    options = ("--documents", str(manifest), "--documents-only")
    with served(tmp_path / "data", *options) as server, httpx.Client(base_url=server.url) as client:

        def asked(document_id: str) -> object:
            return client.post("/graphql", json={"documentId": document_id}).json().get("data")

        assert asked("page") == {"__typename": "Query"}
        assert asked("later") is None
        added = called("documents", "add", later, "--data-dir", tmp_path / "data")
        assert added.returncode == 0, added.stderr
        assert asked("later") == {"later": "Query"}
