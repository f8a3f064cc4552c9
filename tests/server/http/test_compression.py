"""Every client that accepts compression gets it, except where it could reveal a secret."""

import asyncio

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette_compress import CompressMiddleware

from server.http.middleware import PIECE, CompressionMiddleware
from server.http.request import GRAPHQL
from tests.server.http.listening import Echo

HTML = b"<p>The same again.</p>" * 100


def page(content_type: str = "text/html", tag: bytes = b'W/"1"') -> ASGIApp:
    """Return an application that responds with the headers of a page."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", content_type.encode()),
            (b"vary", b"Cookie"),
            (b"content-length", b"2200"),
            (b"etag", tag),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": HTML})

    return answer


async def ask(path: str = "/", app: ASGIApp | None = None, **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(CompressionMiddleware(app or page()))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        client.headers.pop("accept-encoding")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await client.get(path, headers=named)


@pytest.mark.parametrize("content_type", ["text/html", "application/json", GRAPHQL])
@pytest.mark.parametrize(
    ("asked", "coding"),
    [
        ("gzip", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("deflate, gzip, br", "br"),
        ("gzip, deflate, br, zstd", "br"),
    ],
)
async def test_clients_that_accept_compression_get_it(
    asked: str, coding: str, content_type: str
) -> None:
    answer = await ask(app=page(content_type), accept_encoding=asked)
    assert answer.headers["content-encoding"] == coding
    assert int(answer.headers["content-length"]) < 200
    assert answer.content == HTML
    assert answer.headers["vary"] == "Cookie, Accept-Encoding"


@pytest.mark.parametrize("asked", ["", "identity", "gzip;q=0", "deflate", "gzipped"])
async def test_other_clients_get_uncompressed_responses(asked: str) -> None:
    answer = await (ask(accept_encoding=asked) if asked else ask())
    assert "content-encoding" not in answer.headers
    assert answer.headers["content-length"] == "2200"
    # A shared cache stores compressed and uncompressed responses separately. nginx before 1.23
    # reads only one header Vary.
    assert answer.headers.get_list("vary") == ["Cookie, Accept-Encoding"]


@pytest.mark.parametrize("coding", ["gzip", "br"])
async def test_responses_to_requests_with_a_cookie_are_never_compressed(coding: str) -> None:
    answer = await ask(accept_encoding=coding, cookie="marginalia_jwt=a.b.c")
    assert "content-encoding" not in answer.headers


async def test_files_and_small_responses_are_not_compressed() -> None:
    file = await ask("/static/pages/x.js", accept_encoding="gzip")
    assert "content-encoding" not in file.headers
    small = await ask(app=Echo(), accept_encoding="gzip")
    assert (small.text, "content-encoding" in small.headers) == ("/:", False)


@pytest.mark.parametrize(
    ("tag", "asked", "sent"),
    [
        (b'"a1"', "gzip", '"a1-gzip"'),
        (b'"a1"', "br", '"a1-br"'),
        (b'"a1"', "identity", '"a1"'),
        (b'W/"a1"', "gzip", 'W/"a1"'),
    ],
)
async def test_a_strong_etag_is_that_of_the_bytes_that_are_sent(
    tag: bytes, asked: str, sent: str
) -> None:
    answer = await ask(app=page(tag=tag), accept_encoding=asked)
    assert answer.headers["etag"] == sent


async def test_starlettes_middleware_alone_would_compress_responses_to_requests_with_a_cookie() -> (
    None
):
    """So Marginalia's middleware must prevent it."""
    transport = httpx.ASGITransport(CompressMiddleware(page()))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get("/", headers={"Accept-Encoding": "gzip", "Cookie": "a=b"})
    assert answer.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize("coding", ["gzip", "br"])
async def test_a_long_response_is_compressed_in_several_turns(coding: str) -> None:
    turns, text = 0, "🦊 jumps" * PIECE

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    answer = await ask(app=PlainTextResponse(text), accept_encoding=coding)
    counting.cancel()
    assert (answer.headers["content-encoding"], answer.text) == (coding, text)
    assert turns > 5
