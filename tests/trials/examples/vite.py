"""The development servers of the examples, on free ports and against a server of ours."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.engines import ROOT, free_port

EXAMPLES = ROOT / "examples"
VITE = EXAMPLES / "node_modules/vite/bin/vite.js"

START = 120.0
"""Seconds in which Vite must listen."""


@contextmanager
def developed(example: str, api: str, log: Path) -> Iterator[str]:
    """Start an example as ``npm run dev`` does; yield its address until the block ends."""
    url = f"http://127.0.0.1:{free_port()}"
    with (
        log.open("w") as said,
        subprocess.Popen(
            ["node", VITE, "--port", url.rpartition(":")[2], "--strictPort"],
            cwd=EXAMPLES / example,
            env=os.environ | {"VITE_API": f"{api}/graphql"},
            stdout=said,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            _await(process, url, log)
            yield url
        finally:
            process.terminate()


def _await(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(url, timeout=START)
        except httpx.TransportError:
            time.sleep(0.2)
        else:
            return
    raise RuntimeError(f"Vite did not come up:\n{log.read_text()}")
