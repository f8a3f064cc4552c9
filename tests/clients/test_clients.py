"""Relay, Apollo and urql, used as in front ends, with servers on the embedded engine."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.relay import ARTIFACTS, PERSISTED, compiled
from tests.server.serving import bearer, called, served

HERE = Path(__file__).parent
MANIFEST = HERE / "apollo-manifest.json"
"""The manifest of documents.mjs.

`npm run manifest` writes it, and persisted.mjs fails if it is outdated.
"""

ANA = [bearer("auth0|64f", name=name) for name in ("Ana Pérez", "Ana")]
"""The headers of one user, whose two JWTs have different names."""

COUNT = 25
PRODUCT = "42"
NEWEST_FIRST = [f"Comment {number}" for number in reversed(range(COUNT))]
SIZE = 10

BY_ID = {"Apollo, manifest": ["POST hash"] * 2, "urql, manifest": ["GET hash"] * 2}
"""The requests of each client that sends a registered document twice."""

WITHOUT_APQ = BY_ID | {
    "Apollo, hash by POST": ["POST hash", "POST text", "POST text"],
    "Apollo, hash by GET": ["GET hash", "POST text", "POST text"],
    "urql, hash by POST": ["POST hash", "POST text", "GET text"],
    "urql, hash by GET": ["GET hash", "GET text", "GET text"],
}
WITH_APQ = BY_ID | {
    "Apollo, hash by POST": ["POST hash", "POST hash and text", "POST hash"],
    "Apollo, hash by GET": ["GET hash", "POST hash and text", "GET hash"],
    "urql, hash by POST": ["POST hash", "POST hash and text", "POST hash"],
    "urql, hash by GET": ["GET hash", "GET hash and text", "GET hash"],
}
"""The requests of each client that sends an unregistered document twice."""


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the output of Relay's compiler."""
    place = tmp_path_factory.mktemp("relay")
    done = compiled(HERE / "relay", place)
    assert done.returncode == 0, done.stdout
    return place


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("clients")) as url:
        yield url


@pytest.fixture(scope="module")
def documents_only(tmp_path_factory: pytest.TempPathFactory, relay: Path) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("documents-only")
    with serving(directory, "--documents-only") as url:
        added = called("documents", "add", relay / PERSISTED, "--data-dir", directory)
        assert added.returncode == 0, added.stderr
        yield url


@contextmanager
def serving(directory: Path, *options: str, count: int = COUNT) -> Iterator[str]:
    """Run a server with the manifest's documents and ``count`` comments.

    Yield the API's address.
    """
    operations = json.loads(MANIFEST.read_text("utf-8"))["operations"]
    add = next(one["id"] for one in operations if one["name"] == "Add")
    with served(directory, "--documents", str(MANIFEST), *options) as server:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            for number in range(count):
                client.headers.update(ANA[number % 2])
                variables = {"productId": PRODUCT, "text": f"Comment {number}"}
                asked = {"documentId": add, "variables": variables}
                answer = client.post("/graphql", json=asked)
                assert answer.json()["data"]["addComment"]["userErrors"] == []
        yield f"{server.url}/graphql"


def ran(script: str, url: str, *arguments: str | Path, headers: dict[str, str] = ANA[0]) -> Any:
    """Run a script of this directory. Return the JSON that it prints."""
    return run_node(HERE / script, url, headers["Authorization"], PRODUCT, *arguments)


def run_node(script: Path, *arguments: str | Path) -> Any:
    """Run a script in its directory. Return the JSON that it prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["node", script, *arguments],
        cwd=script.parent,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), "a cache warns"
    return json.loads(done.stdout)


def assert_names(answer: Any) -> None:
    """Check that each comment has the name of its JWT, and their author the newest name."""
    assert answer["names"] == ["Ana", "Ana Pérez"]
    assert answer["author"] == ["Ana Pérez", "auth0|64f"]


def test_apollo_reads_pages(url: str, blocks: Path) -> None:
    answer = ran("apollo.mjs", url, blocks)
    assert answer["forward"] == NEWEST_FIRST
    assert answer["backward"] == NEWEST_FIRST
    assert_names(answer)
    assert answer["errors"] == ["BAD_CURSOR", "BAD_REQUEST"]


def test_urql_reads_pages(url: str, blocks: Path) -> None:
    answer = ran("urql.mjs", url, blocks)
    assert answer["forward"] == NEWEST_FIRST
    assert answer["backward"] == NEWEST_FIRST
    assert answer["page"] == NEWEST_FIRST[:SIZE]
    assert_names(answer)
    assert answer["errors"] == ["BAD_CURSOR", "BAD_REQUEST"]


@pytest.mark.parametrize(
    ("throwing", "nullable"), [(" @throwOnFieldError", {"title"}), ("", {"title", "isKnown"})]
)
def test_relay_types_only_the_data_nulls_of_a_query_that_throws_errors(
    tmp_path: Path, throwing: str, nullable: set[str]
) -> None:
    """The fields ``product`` and ``isKnown`` have ``@semanticNonNull``, ``title`` has not."""
    sources = tmp_path / "sources"
    sources.mkdir()
    document = f'query AQuery{throwing} {{ product(productId: "1") {{ title isKnown }} }}'
    (sources / "A.ts").write_text(f"graphql`{document}`")
    (tmp_path / "place").mkdir()
    done = compiled(sources, tmp_path / "place", language="typescript")
    assert done.returncode == 0, done.stdout
    typed = (tmp_path / "place" / ARTIFACTS / "AQuery.graphql.ts").read_text("utf-8")
    found = re.findall(r"readonly (\w+): (?:\w+) \| null \| undefined;", typed)
    assert {*found} == nullable
    assert ("} | null | undefined;" in typed) == (throwing == "")


def test_relay_reads_pages_and_inserts_and_deletes_comments(url: str, relay: Path) -> None:
    answer = ran("relay.mjs", url, relay / ARTIFACTS, "text")
    assert_relay_pages_inserts_and_deletes(answer)
    assert answer["otherText"] is None


def test_relay_sends_document_ids_to_a_server_of_trusted_documents(
    documents_only: str, relay: Path
) -> None:
    answer = ran("relay.mjs", documents_only, relay / ARTIFACTS, "doc_id")
    assert_relay_pages_inserts_and_deletes(answer)
    assert answer["otherText"] == "UNTRUSTED_DOCUMENT"


def assert_relay_pages_inserts_and_deletes(answer: Any) -> None:
    assert answer["forward"] == NEWEST_FIRST
    assert answer["backward"] == NEWEST_FIRST
    assert answer["inserted"] == ["By Relay", *NEWEST_FIRST]
    assert answer["deleted"] == NEWEST_FIRST
    assert answer["byAuthor"] == NEWEST_FIRST
    assert_names(answer)
    assert answer["errors"] == ["BAD_CURSOR", "BAD_REQUEST"]


def test_clients_send_texts_if_the_server_refuses_hashes(url: str) -> None:
    answer = ran("persisted.mjs", url, MANIFEST)
    assert answer["sent"] == WITHOUT_APQ
    assert answer["shown"] == dict.fromkeys(WITHOUT_APQ, NEWEST_FIRST[:1] * 2)


def test_a_server_of_trusted_documents_refuses_other_texts(documents_only: str) -> None:
    answer = ran("persisted.mjs", documents_only, MANIFEST)
    assert answer["sent"] == WITHOUT_APQ
    refused = dict.fromkeys(WITHOUT_APQ, ["UNTRUSTED_DOCUMENT"] * 2)
    assert answer["shown"] == refused | dict.fromkeys(BY_ID, NEWEST_FIRST[:1] * 2)


def test_clients_register_texts_by_hash(tmp_path: Path) -> None:
    with serving(tmp_path, "--apq", count=1) as url:
        answer = ran("persisted.mjs", url, MANIFEST)
    assert answer["sent"] == WITH_APQ
    assert answer["shown"] == dict.fromkeys(WITH_APQ, ["Comment 0"] * 2)
