"""Checks in Chromium which responses pages of other origins can read.

The server allows one of two origins.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from playwright.async_api import Page, async_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.server.serving import ADD, bearer
from tools.trials.audit.findings import Finding

READ = '{ product(productId: "1") { comments(first: 1) { nodes { text } } } }'
COMMENT = {"productId": "1", "rating": 5, "language": "en", "text": "From another origin."}

_ASK = """
async ({url, method, body, headers}) => {
  try {
    const answer = await fetch(url, {method, headers, body: body && JSON.stringify(body)});
    const id = answer.headers.get("X-Request-ID");
    return {status: answer.status, id, body: await answer.json()};
  } catch (error) {
    return {refused: error.message};
  }
}
"""


class _EmptyPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>A front end</title>")

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def origin() -> Iterator[str]:
    """Serve an empty page on a port of its own, which makes it another origin."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _EmptyPage) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


async def findings(url: str, allowed: str, other: str) -> list[Finding]:
    """Return which responses of the server at ``url`` pages of both origins can read."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = await browser.new_page()
        await page.goto(allowed)
        found = await _allowed(page, f"{url}/graphql")
        found.append(_refused("a page of the site itself, asked for", await _ask(page, url, "GET")))
        await page.goto(other)
        body = {"query": READ}
        refused = [
            ("another origin, query by GET", await _get(page, f"{url}/graphql")),
            ("another origin, query by POST", await _ask(page, f"{url}/graphql", "POST", body)),
        ]
        await browser.close()
    return found + [_refused(name, answer) for name, answer in refused]


async def _allowed(page: Page, url: str) -> list[Finding]:
    mutation = {"query": ADD, "variables": {"input": COMMENT}}
    added = await _ask(page, url, "POST", mutation, bearer("ada"))
    read = await _get(page, url)
    failed = await _ask(page, url, "POST", mutation, {"Authorization": "Bearer nonsense"})
    comment = added.get("body", {}).get("data", {}).get("addComment", {}).get("comment") or {}
    nodes = read.get("body", {}).get("data", {}).get("product", {}).get("comments", {}).get("nodes")
    return [
        Finding("allowed origin, mutation with a JWT", "commentId" in comment, _seen(added)),
        Finding("allowed origin, query by GET", nodes == [{"text": COMMENT["text"]}], _seen(read)),
        Finding(
            "allowed origin, a refusal can be read", failed.get("status") == 401, _seen(failed)
        ),
        Finding("allowed origin, the request's id can be read", bool(failed.get("id"))),
    ]


def _refused(name: str, answer: dict[str, Any]) -> Finding:
    return Finding(name, "refused" in answer, _seen(answer))


def _seen(answer: dict[str, Any]) -> str:
    return str(answer.get("status") or f"the browser refuses: {answer.get('refused')}")


async def _get(page: Page, url: str) -> dict[str, Any]:
    return await _ask(page, f"{url}?query={READ.replace(' ', '+')}", "GET")


async def _ask(
    page: Page,
    url: str,
    method: str,
    body: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Return the response that a script in the page reads, or the browser's error."""
    sent = (headers or {}) | ({"Content-Type": "application/json"} if body else {})
    answer: dict[str, Any] = await page.evaluate(
        _ASK, {"url": url, "method": method, "body": body, "headers": sent}
    )
    return answer
