"""Counts modules, functions and changes of module of a warm page, and of an added comment.

A server with the demo data first answers one request until it is warm. Then a profiler counts the
calls of the project's Python functions during one more request on the same connection. A change of
module is a call whose module differs from the module of the call before. The page has 20 comments
of a product with two filters, and no statistics. The trial fails if a number is above its maximum.
"""

import os
import signal
import sys
import threading
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from unittest import mock

import httpx
import psutil

from server.cli import main as cli
from tests.engines import ROOT
from tests.server.serving import SECRET, bearer, environment
from tools.trials.reporting import CONSOLE, finish, show

MOST = {"page": (51, 254, 470), "add": (62, 275, 240)}
"""The maximum numbers of modules, functions and changes of module."""

WARM = 50
"""The number of requests before the one that is counted."""

QUERY = """
query ($rating: [Int!], $language: [String!]) {
  product(productId: "1") {
    comments(first: 20, rating: $rating, language: $language) {
      edges { cursor node { id rating language title text createdAt author { username } } }
      pageInfo { hasNextPage endCursor }
    }
  }
}"""
PAGE = {"query": QUERY, "variables": {"rating": [4, 5], "language": ["en", "de"]}}
ADD = """
mutation ($input: AddCommentInput!) {
  addComment(input: $input) { comment { id } userErrors { code } }
}"""

calls: list[tuple[str, str]] = []
"""The calls during the counted request: the module's path, and the function."""


def body(kind: str, number: int) -> dict[str, Any]:
    """Return the body of a request."""
    if kind == "page":
        return PAGE
    one = {
        "productId": f"path-{number}",
        "rating": 5,
        "language": "en",
        "title": "",
        "text": "Good.",
    }
    return {"query": ADD, "variables": {"input": {**one, "idempotencyKey": f"path-{number}"}}}


def walk(kind: str) -> tuple[int, int, int]:
    """Return the numbers of modules, functions and changes of module of one request."""
    calls.clear()
    serve_and_count(kind)
    changes = sum(before != after for (before, _), (after, _) in pairwise(calls))
    return len({module for module, _ in calls}), len(set(calls)), changes


def serve_and_count(kind: str) -> None:
    """Run a server in this thread, and send requests from another thread."""
    with TemporaryDirectory() as folder:
        signal.signal(signal.SIGUSR1, _toggle)
        failures: list[BaseException] = []
        client = threading.Thread(
            target=_request_pages, args=(kind, threading.get_ident(), failures)
        )
        client.start()
        command = ["marginalia", "serve", "--port", "0", "--data-dir", folder]
        command += ["--demo", "--no-explain"]
        with (
            mock.patch.dict(os.environ, environment(MARGINALIA_JWT_SECRET=SECRET), clear=True),
            mock.patch.object(sys, "argv", command),
        ):
            try:
                cli.main()
            except SystemExit as end:
                if end.code:
                    raise
        client.join()
    if failures:
        raise failures[0]


def _toggle(_number: int, _frame: FrameType | None) -> None:
    sys.setprofile(None if sys.getprofile() else _count)


def _count(frame: FrameType, event: str, _argument: Any) -> None:
    path = frame.f_code.co_filename
    ours = path.startswith(f"{ROOT}/") and "/.venv/" not in path
    if event == "call" and ours and path != __file__:
        calls.append((str(Path(path).relative_to(ROOT)), frame.f_code.co_qualname))


def _request_pages(kind: str, server_thread: int, failures: list[BaseException]) -> None:
    try:
        headers = bearer("path") if kind == "add" else {}
        with httpx.Client(base_url=_url(), timeout=60, headers=headers) as client:
            while 'http-equiv="refresh"' in client.get("/").text:  # the demo data is still loading
                time.sleep(0.5)
            for number in range(WARM):
                _answer(client, body(kind, number))
            signal.pthread_kill(server_thread, signal.SIGUSR1)
            _answer(client, body(kind, WARM))
            signal.pthread_kill(server_thread, signal.SIGUSR1)
    except BaseException as error:  # noqa: BLE001 - raised again by the main thread
        failures.append(error)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def _url() -> str:
    """Return the address of this process's server once it listens."""
    own = psutil.Process()
    while True:
        for connection in own.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN:
                return f"http://127.0.0.1:{connection.laddr.port}"
        time.sleep(0.1)


def _answer(client: httpx.Client, request: dict[str, Any]) -> None:
    response = client.post("/graphql", json=request)
    answer = response.json()
    if "errors" in answer or (answer["data"].get("addComment") or {}).get("userErrors"):
        raise RuntimeError(response.text)


def main() -> None:
    """Run the trial and print the calls of each module."""
    problems = []
    for kind, most in MOST.items():
        found = walk(kind)
        modules = Counter(module for module, _ in calls)
        show(
            f"Modules: {kind}",
            ("module", "calls"),
            [(one, str(modules[one])) for one in sorted(modules)],
        )
        for what, one, limit in zip(
            ("modules", "functions", "changes of module"), found, most, strict=True
        ):
            CONSOLE.print(f"{kind}: {one} {what}; the maximum is {limit}.")
            problems += [f"Too many {what}: {kind}."] if one > limit else []
    finish(problems)


if __name__ == "__main__":
    main()
