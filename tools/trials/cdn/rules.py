"""Requests that show nginx's rules: TLS, live comments, limits, addresses and the age of pages."""

import asyncio
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from server.auth.authenticator import DEMO_USER
from server.http.request import MAX_BODY
from tests.server.serving import ADD, bearer
from tools.bench.speed.generator import Answer, Once, ask, request
from tools.trials.cdn.nginx import Proxy

CONNECTIONS = 100
"""The number of one client's connections that nginx allows."""

_SUBSCRIPTION = 'subscription { commentEvents(productId: "42") { kind } }'
_MANY = 500


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, what the trial has seen, and whether the rule holds."""

    what: str
    seen: str
    holds: bool


def rules(usual: Proxy, unlimited: Proxy, longest: float) -> Iterator[Rule]:
    """Yield the rules. ``unlimited`` allows any rate, and ``longest`` is the maximum age of pages.

    The clients have several addresses, so that one rule's requests do not count for another rule.
    """
    moved = httpx.get(f"{usual.plain_url}/products/1?rating=5")
    target = moved.headers.get("Location", "")
    yield Rule(
        "HTTP redirects to HTTPS",
        f"{moved.status_code} {target}",
        (moved.status_code, target) == (308, "https://127.0.0.1/products/1?rating=5"),
    )
    spoken = [_handshake(usual, ssl.TLSVersion.TLSv1_1), _handshake(usual, ssl.TLSVersion.TLSv1_2)]
    yield Rule(
        "no TLS 1.1, and HTTP/2",
        ", ".join(spoken),
        spoken == ["TLSV1_ALERT_PROTOCOL_VERSION", "h2"],
    )
    for name, subscribed in (("WebSocket", _by_websocket), ("server-sent events", _by_events)):
        seen = []
        try:
            with subscribed(usual) as following:
                seen.append(following())
                _add(usual, name)
                seen.append(following())
        except (httpx.TransportError, TimeoutError, WebSocketException) as error:
            seen.append(type(error).__name__)
        yield Rule(f"each event at once by {name}", ", ".join(seen), seen == ["READY", "ADDED"])
    with usual.client("127.0.0.3") as client:
        headers = {"Content-Type": "application/json"}
        bodies = [b" " * MAX_BODY, b" " * (MAX_BODY + 1)]
        sizes = [client.post("/graphql", content=one, headers=headers) for one in bodies]
    yield Rule(
        f"a body of {MAX_BODY:,} bytes, but no larger one",
        ", ".join(f"{one.status_code} {_code(one)}" for one in sizes),
        [(one.status_code, _code(one)) for one in sizes]
        == [(400, "BAD_REQUEST"), (413, "BAD_REQUEST")],
    )
    full, left = _full(unlimited, "127.0.0.6")
    yield Rule(
        f"{CONNECTIONS} connections for each client",
        f"then {full.decode()}, one less {left.decode()}",
        (full, left) == (b"429", b"200"),
    )
    claims = [(f"X-Forwarded-For: 203.0.113.{number % 250}",) for number in range(_MANY)]
    errors = _refusals(_burst(unlimited, "127.0.0.7", "/graphql?query={__typename}", claims))
    named = {one["message"].split()[0] for one in errors}
    yield Rule("no client claims an address", ", ".join(named), named == {"127.0.0.7"})
    yield _freshness(usual, longest)
    # The server has no limit for health checks.
    answers = _burst(usual, "127.0.0.8", "/health/live", [()] * _MANY)
    refused = _refusals(answers)
    codes = {one["extensions"]["code"] for one in refused}
    with usual.client("127.0.0.5") as client:
        other = client.get("/health/live").status_code
    yield Rule(
        "a rate for each client",
        f"{len(refused)} of {len(answers)} times 429, another client {other}",
        len(refused) < len(answers) and codes == {"THROTTLED"} and other == httpx.codes.OK,
    )


def _handshake(proxy: Proxy, most: ssl.TLSVersion) -> str:
    """Return the protocol above TLS, or the alert with which the proxy refuses the handshake."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # OpenSSL's usual level has no TLS 1.1
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, most
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(_place(proxy)) as connection:
        try:
            with context.wrap_socket(connection) as encrypted:
                return encrypted.selected_alpn_protocol() or ""
        except ssl.SSLError as error:
            return error.reason or ""


@contextmanager
def _by_websocket(proxy: Proxy) -> Iterator[Callable[[], str]]:
    """Subscribe to comments. Yield a function that returns the kind of the next event."""
    address = f"{proxy.url.replace('https', 'wss')}/graphql"
    with connect(address, ssl=proxy.tls, subprotocols=["graphql-transport-ws"]) as opened:  # type: ignore[list-item]
        opened.send(json.dumps({"type": "connection_init"}))
        assert json.loads(opened.recv(10))["type"] == "connection_ack"
        started = {"id": "1", "type": "subscribe", "payload": {"query": _SUBSCRIPTION}}
        opened.send(json.dumps(started))
        yield lambda: json.loads(opened.recv(10))["payload"]["data"]["commentEvents"]["kind"]


@contextmanager
def _by_events(proxy: Proxy) -> Iterator[Callable[[], str]]:
    """Subscribe to comments. Yield a function that returns the kind of the next event."""
    headers = {"Accept": "text/event-stream"}
    with (
        proxy.client() as client,
        client.stream("POST", "/graphql", json={"query": _SUBSCRIPTION}, headers=headers) as answer,
    ):
        lines = answer.iter_lines()
        told = (json.loads(one[6:]) for one in lines if one.startswith("data: "))
        yield lambda: next(told)["data"]["commentEvents"]["kind"]


def _add(proxy: Proxy, text: str, product: str = "42") -> None:
    given = {"productId": product, "rating": 5, "language": "en", "text": text}
    body = {"query": ADD, "variables": {"input": given}}
    with proxy.client() as client:
        answer = client.post("/graphql", json=body, headers=bearer(DEMO_USER)).json()
    assert answer["data"]["addComment"]["userErrors"] == []


def _burst(
    proxy: Proxy, source: str, path: str, headers: Sequence[tuple[str, ...]]
) -> list[Answer]:
    """Send requests, each with its headers, faster than the limits, also on a busy machine."""
    answers: list[Answer] = []
    requests = [request(proxy.url, path, headers=one) for one in headers]
    asked = Once(requests, lambda _, one: answers.append(one))
    asyncio.run(ask(proxy.url, asked, 20, tls=proxy.tls, source=source))
    return answers


def _refusals(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Return the errors of the requests above a limit."""
    return [orjson.loads(one.body)["errors"][0] for one in answers if one.status == b"429"]


def _full(proxy: Proxy, address: str) -> tuple[bytes, bytes]:
    """Return the status for a client with all of its connections, and with one connection less."""
    incomplete = b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
    complete = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with ExitStack() as stack:

        def opened() -> ssl.SSLSocket:
            plain = socket.create_connection(_place(proxy), source_address=(address, 0))
            one = proxy.tls.wrap_socket(plain, server_hostname="127.0.0.1")
            return stack.enter_context(one)

        def status(one: ssl.SSLSocket) -> bytes:
            one.sendall(complete)
            return one.recv(4_096)[9:12]

        waiting = [opened() for _ in range(CONNECTIONS)]
        for one in waiting:
            one.sendall(incomplete)
        time.sleep(1)  # nginx reads the requests
        full = status(opened())
        waiting[0].close()
        time.sleep(1)
        return full, status(opened())


def _freshness(proxy: Proxy, longest: float) -> Rule:
    """Request a page, change it, wait, and request it again."""
    variables = orjson.dumps({"id": "3"}).decode()
    text = "A text that no stored page has"
    with proxy.client() as client:

        def page() -> httpx.Response:
            given = {"documentId": "page", "variables": variables}
            return client.get("/graphql", params=given)

        seen = [page(), page()]
        _add(proxy, text, "3")
        time.sleep(longest)
        seen.append(page())
    states = [one.headers["x-cache"] for one in seen]
    return Rule(
        f"no page is older than {longest:g} s",
        ", ".join(states),
        states[:2] == ["MISS", "HIT"]
        and [text in one.text for one in seen] == [False, False, True],
    )


def _code(answer: httpx.Response) -> str:
    return str(answer.json()["errors"][0]["extensions"]["code"])


def _place(proxy: Proxy) -> tuple[str, int]:
    parts = urlsplit(proxy.url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port
