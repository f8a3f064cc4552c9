"""Programs of npm that check a server or its schema: graphql-http, clients, Relay's compiler."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.clients.relay import ARTIFACTS, compiled
from tools.trials.audit.findings import Finding

HERE = Path(__file__).parent


def graphql_http(url: str) -> list[Finding]:
    """Return the results of graphql-http's audits of the rules for GraphQL over HTTP."""
    return [
        Finding(f"{audit['id']} {audit['name']}", audit["status"] == "ok", audit.get("reason", ""))
        for audit in _output("graphql_http.mjs", f"{url}/graphql")
    ]


def clients(url: str) -> list[Finding]:
    """Return whether urql and Apollo read a product, with and without persisted queries."""
    return [
        Finding(run["name"], run["answer"] == "42", ", then ".join(run["sent"]))
        for run in _output("clients.mjs", f"{url}/graphql")
    ]


def relay() -> list[Finding]:
    """Return whether Relay's compiler accepts documents with lists, mutations and refetches."""
    with TemporaryDirectory() as directory:
        place = Path(directory)
        done = compiled(HERE / "relay", place)
        made = len(list((place / ARTIFACTS).glob("*.graphql.js")))
    holds = done.returncode == 0 and made > 0
    seen = f"{made} documents" if holds else " ".join(done.stdout.split())
    return [Finding("relay-compiler: lists, mutations, refetched objects", holds, seen)]


def _output(script: str, *arguments: str) -> Any:
    """Run a script of this directory. Return the JSON that it prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["node", HERE / script, *arguments],
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)
