"""Relay, Apollo and urql as front ends use them, against a server over the embedded engine."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.relay import ARTIFACTS, compiled
from tests.server.serving import ADD, bearer, served

HERE = Path(__file__).parent
COUNT = 25
PRODUCT = "42"
NEWEST_FIRST = [f"Comment {number}" for number in reversed(range(COUNT))]
SIZE = 10


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with what Relay's compiler makes."""
    place = tmp_path_factory.mktemp("relay")
    done = compiled(HERE / "relay", place)
    assert done.returncode == 0, done.stdout
    return place


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("clients")) as server:
        with httpx.Client(base_url=server.url, headers=bearer("ann")) as client:
            for number in range(COUNT):
                comment = {"productId": PRODUCT, "rating": 5, "language": "en"}
                variables = {"input": comment | {"text": f"Comment {number}"}}
                answer = client.post("/graphql", json={"query": ADD, "variables": variables})
                assert answer.json()["data"]["addComment"]["userErrors"] == []
        yield f"{server.url}/graphql"


def ran(script: str, url: str, *arguments: str | Path) -> Any:
    """Return what a script of this directory prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["node", HERE / script, url, bearer("ann")["Authorization"], PRODUCT, *arguments],
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_apollo_pages_inserts_and_evicts(url: str) -> None:
    answer = ran("apollo.mjs", url)
    assert answer["forward"] == NEWEST_FIRST
    assert answer["backward"] == NEWEST_FIRST
    assert answer["inserted"] == ["By Apollo", *NEWEST_FIRST]
    assert answer["evicted"] == NEWEST_FIRST
    assert answer["errors"] == ["BAD_CURSOR", "BAD_REQUEST"]


def test_urql_pages_inserts_and_invalidates(url: str) -> None:
    answer = ran("urql.mjs", url)
    assert answer["forward"] == NEWEST_FIRST
    assert answer["backward"] == NEWEST_FIRST
    assert answer["page"] == NEWEST_FIRST[:SIZE]
    assert answer["inserted"] == ["By urql", *NEWEST_FIRST[:SIZE]]
    assert answer["evicted"] == NEWEST_FIRST[:SIZE]
    assert answer["errors"] == ["BAD_CURSOR", "BAD_REQUEST"]


def test_relay_pages_inserts_and_deletes(url: str, relay: Path) -> None:
    answer = ran("relay.mjs", url, relay / ARTIFACTS)
    assert answer["forward"] == NEWEST_FIRST
    assert answer["backward"] == NEWEST_FIRST
    assert answer["inserted"] == ["By Relay", *NEWEST_FIRST]
    assert answer["deleted"] == NEWEST_FIRST
    assert answer["errors"] == ["BAD_CURSOR", "BAD_REQUEST"]
