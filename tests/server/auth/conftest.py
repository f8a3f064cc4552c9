"""An HTTP server with any response, as a key set, a discovery document or a token endpoint."""

import http.server
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

DEEP = (b"[" * 100_000, b'{"keys":' * 100_000, b"[" * 990 + b"]" * 990)
"""JSON with more levels than Python's recursion limit, or nearly as many."""

MALFORMED = (*DEEP, b"<html>", b"\xff", b"5", b"[]")
"""Responses that are no JSON object that Python can read."""


@pytest.fixture(scope="module")
def serve_body() -> Iterator[Callable[..., str]]:
    """Return a function that serves a body, and returns its URL.

    The function's further arguments are the response's status and headers. The body is also at all
    paths below the URL. ``HERE`` in the body becomes the URL. The server is also a proxy to hosts
    with the same paths.
    """
    answers: list[tuple[int, dict[str, str], bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, body = answers[int(urlsplit(self.path).path.split("/")[1])]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name that http.server calls

        def log_message(self, *_: Any) -> None:
            pass

    def publish(body: bytes, status: int = 200, **headers: str) -> str:
        url = f"http://127.0.0.1:{server.server_port}/{len(answers)}"
        answers.append((status, headers, body.replace(b"HERE", url.encode())))
        return url

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield publish
        server.shutdown()
        thread.join()
