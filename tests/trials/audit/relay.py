"""Relay's compiler on what a front end would write."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.engines import ROOT
from tests.trials.audit.findings import Finding
from tests.trials.audit.node import HERE

SCHEMA = ROOT / "schema.graphql"

_COMPILER = HERE / "node_modules/relay-compiler/linux-x64/relay"
_CONFIG = {
    "src": "src",
    "schema": "schema.graphql",
    "language": "javascript",
    "artifactDirectory": "out",
}


def findings(schema: Path = SCHEMA) -> list[Finding]:
    """Return what the compiler says."""
    with TemporaryDirectory() as directory:
        place = Path(directory)
        shutil.copytree(HERE / "relay", place / "src")
        shutil.copy(schema, place / "schema.graphql")
        (place / "out").mkdir()
        (place / "relay.config.json").write_text(json.dumps(_CONFIG))
        done = subprocess.run(
            [_COMPILER, "relay.config.json"],
            cwd=place,
            env=os.environ | {"FORCE_NO_WATCHMAN": "1", "NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        made = len(list((place / "out").glob("*.graphql.js")))
    holds = done.returncode == 0 and made > 0
    seen = f"{made} documents" if holds else " ".join(done.stdout.split())
    return [Finding("relay-compiler: lists, mutations, refetched objects", holds, seen)]
