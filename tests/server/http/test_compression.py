"""gzip: for whoever asks, and never where it could tell a secret."""

import httpx
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from server.http.compression import CompressionMiddleware
from tests.server.http.listening import Echo

HTML = b"<p>The same again.</p>" * 100


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer as the pages do."""
    headers = [(b"content-type", b"text/html"), (b"vary", b"Cookie"), (b"content-length", b"2200")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": HTML})


async def ask(path: str = "/", app: ASGIApp = page, **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(CompressionMiddleware(app))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        client.headers.pop("accept-encoding")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await client.get(path, headers=named)


@pytest.mark.parametrize("asked", ["gzip", "br, gzip;q=0.5", "deflate, gzip"])
async def test_who_asks_gets_less_to_read(asked: str) -> None:
    answer = await ask(accept_encoding=asked)
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 200
    assert answer.content == HTML
    assert answer.headers["vary"] == "Cookie, Accept-Encoding"


@pytest.mark.parametrize("asked", ["", "identity", "gzip;q=0", "br", "gzipped"])
async def test_who_does_not_ask_gets_it_as_it_is(asked: str) -> None:
    answer = await (ask(accept_encoding=asked) if asked else ask())
    assert "content-encoding" not in answer.headers
    assert answer.headers["content-length"] == "2200"
    # A cache between keeps both apart.
    assert answer.headers["vary"] == "Cookie, Accept-Encoding"


async def test_what_a_cookie_brings_is_never_compressed() -> None:
    answer = await ask(accept_encoding="gzip", cookie="marginalia_jwt=a.b.c")
    assert "content-encoding" not in answer.headers


async def test_files_and_what_is_small_are_not_worth_it() -> None:
    file = await ask("/static/pages/x.js", accept_encoding="gzip")
    assert "content-encoding" not in file.headers
    small = await ask(app=Echo(), accept_encoding="gzip")
    assert (small.text, "content-encoding" in small.headers) == ("/:", False)
