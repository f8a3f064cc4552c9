"""The development servers of the examples, and the API that the examples use."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from server.local_engine.engine_process import free_port
from tests.engines import ROOT

EXAMPLES = ROOT / "examples"
VITE = EXAMPLES / "node_modules/vite/bin/vite.js"

START = 120.0
"""Seconds within which Vite must listen."""


_PAGE = """
query ($rating: [Int!], $language: [String!], $orderBy: CommentOrder, $after: String) {
  product(productId: "1") {
    comments(rating: $rating, language: $language, orderBy: $orderBy, first: 100, after: $after) {
      nodes { id } pageInfo { hasNextPage endCursor }
    }
  }
}"""


@dataclass(frozen=True, slots=True)
class Api:
    """The API at ``url``."""

    url: str

    def listed(self, **arguments: Any) -> list[str]:
        """Return the ids of a list of comments on product 1, read page by page."""
        found: list[str] = []
        after = None
        with httpx.Client(timeout=60) as client:
            while True:
                body = {"query": _PAGE, "variables": arguments | {"after": after}}
                answer = client.post(f"{self.url}/graphql", json=body).json()
                comments = answer["data"]["product"]["comments"]
                found += [node["id"] for node in comments["nodes"]]
                after = comments["pageInfo"]["endCursor"]
                if not comments["pageInfo"]["hasNextPage"]:
                    return found


@contextmanager
def developed(example: str, api: str, log: Path) -> Iterator[str]:
    """Run an example as ``npm run dev`` does until the block ends. Yield its address."""
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
            deadline = time.monotonic() + START
            while not _answers(url):
                if time.monotonic() > deadline or process.poll() is not None:
                    raise RuntimeError(f"Vite does not start:\n{log.read_text()}")
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=START) is not None
    except httpx.TransportError:
        return False
