"""Prints the modules and calls of a warm page, and fails above 45 modules.

A server with the demo data first answers one query until it is warm. Then a profiler counts the
calls of the project's Python functions during one more request on the same connection. The page has
20 comments of a product with two filters, and no statistics.
"""

import os
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from unittest import mock

import httpx
import psutil

from server.cli import main as cli
from tests.engines import ROOT
from tests.server.serving import SECRET, environment
from tools.trials.reporting import CONSOLE, finish, show

MOST = 45
"""The maximum number of modules that a warm page may call."""

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
BODY = {"query": QUERY, "variables": {"rating": [4, 5], "language": ["en", "de"]}}

calls: Counter[str] = Counter()
"""The number of calls during the counted request, by the module's path."""


def serve_and_count() -> None:
    """Run a server in this thread, and send requests from another thread."""
    with TemporaryDirectory() as folder:
        signal.signal(signal.SIGUSR1, _toggle)
        failures: list[BaseException] = []
        client = threading.Thread(target=_request_pages, args=(threading.get_ident(), failures))
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
        calls[str(Path(path).relative_to(ROOT))] += 1


def _request_pages(server_thread: int, failures: list[BaseException]) -> None:
    try:
        with httpx.Client(base_url=_url(), timeout=60) as client:
            while 'http-equiv="refresh"' in client.get("/").text:  # the demo data is still loading
                time.sleep(0.5)
            for _ in range(WARM):
                _edges(client)
            signal.pthread_kill(server_thread, signal.SIGUSR1)
            _edges(client)
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


def _edges(client: httpx.Client) -> list[Any]:
    response = client.post("/graphql", json=BODY)
    if response.status_code != httpx.codes.OK or "errors" in response.json():
        raise RuntimeError(response.text)
    edges: list[Any] = response.json()["data"]["product"]["comments"]["edges"]
    return edges


def main() -> None:
    """Run the trial and print the calls of each module."""
    serve_and_count()
    rows = [(module, str(calls[module])) for module in sorted(calls)]
    show("Modules of one warm page", ("module", "calls"), rows)
    summary = f"{calls.total()} calls in {len(calls)} modules; the maximum is {MOST} modules."
    CONSOLE.print(summary)
    finish(["Too many modules."] if len(calls) > MOST else [])


if __name__ == "__main__":
    main()
