"""Relay's compiler on lists, mutations and objects that are asked for again."""

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.clients.relay import ARTIFACTS, compiled
from tests.engines import ROOT
from tests.trials.audit.findings import Finding
from tests.trials.audit.node import HERE

SCHEMA = ROOT / "schema.graphql"


def findings(schema: Path = SCHEMA) -> list[Finding]:
    """Return what the compiler says."""
    with TemporaryDirectory() as directory:
        place = Path(directory)
        done = compiled(HERE / "relay", place, schema)
        made = len(list((place / ARTIFACTS).glob("*.graphql.js")))
    holds = done.returncode == 0 and made > 0
    seen = f"{made} documents" if holds else " ".join(done.stdout.split())
    return [Finding("relay-compiler: lists, mutations, refetched objects", holds, seen)]
