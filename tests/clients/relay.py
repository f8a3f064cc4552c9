"""Runs Relay's compiler on the documents of a front end."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.clients.setup_page import blocks
from tests.engines import ROOT

ARTIFACTS = "out"
PERSISTED = "persisted.json"
"""The compiler's output: a directory of modules for Relay's runtime, and a file of texts by id."""

_COMPILER = Path(__file__).parent / "node_modules/relay-compiler/linux-x64/relay"
_CONFIG = json.loads(blocks()["relay.config.json"]) | {
    "language": "javascript",
    "eagerEsModules": False,
    "artifactDirectory": ARTIFACTS,
    "persistConfig": {"file": PERSISTED, "include_query_text": True},
}


def compiled(
    sources: Path,
    place: Path,
    schema: Path = ROOT / "schema.graphql",
    language: str = "javascript",
) -> subprocess.CompletedProcess[str]:
    """Compile the documents in a directory into ``place``.

    The result's ``stdout`` has the errors.
    """
    shutil.copytree(sources, place / "src")
    shutil.copy(schema, place / "schema.graphql")
    (place / ARTIFACTS).mkdir()
    (place / PERSISTED).write_text("{}")
    # Without this file, Node.js would load the modules as CommonJS.
    (place / "package.json").write_text("{}")
    (place / "relay.config.json").write_text(json.dumps(_CONFIG | {"language": language}))
    return subprocess.run(
        [_COMPILER, "relay.config.json"],
        cwd=place,
        env=os.environ | {"FORCE_NO_WATCHMAN": "1", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
