"""Builds hostile requests as bytes. Most functions take the size of the attack."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.server.serving import bearer

JSON = "application/json"
ATTACKER = "X-Forwarded-For: 203.0.113.9"
"""The attacker's address in a header.

The trials connect as a trusted proxy, which has no rate limit.
"""

DEADLINE = 11.0
"""The deadline of a request in seconds, and one more."""

PATIENCE = 2 * DEADLINE


@dataclass(frozen=True, slots=True)
class Sent:
    """A request on a connection of its own."""

    data: bytes
    then: bytes = b""
    """What is sent after the head of the response has arrived."""
    never: bytes = b""
    """A text that the response must not contain."""
    patience: float = PATIENCE
    """Seconds to wait for the response. From ``PATIENCE`` on, a response is required."""


def authorization(username: str) -> str:
    """Return a header line with a user's JWT."""
    return f"Authorization: {bearer(username)['Authorization']}"


def head(
    *lines: str, method: str = "POST", path: str = "/graphql", version: str = "1.1", hosts: int = 1
) -> bytes:
    """Return the head of a request, with ``hosts`` Host headers."""
    first = [f"{method} {path} HTTP/{version}", *["Host: 127.0.0.1"] * hosts]
    return "\r\n".join([*first, *lines, "", ""]).encode()


def post(content: bytes, *lines: str, path: str = "/graphql", kind: str = JSON) -> bytes:
    """Return a POST. The server closes the connection after its response."""
    measured = f"Content-Type: {kind}", f"Content-Length: {len(content)}", "Connection: close"
    return head(*measured, *lines, path=path) + content


def body(query: str, **variables: Any) -> bytes:
    """Return the body of a request that also asks for its cost."""
    given = {"query": query, "variables": variables, "extensions": {"cost": True}}
    return json.dumps(given).encode()


def by_post(query: str, **variables: Any) -> Sent:
    """Return an operation of the attacker by POST."""
    return Sent(post(body(query, **variables), ATTACKER, authorization("ana")))


def by_get(query: str) -> Sent:
    """Return a query of the attacker by GET, as a page of any site can send it."""
    path = f"/graphql?query={quote(query)}"
    return Sent(head(ATTACKER, "Connection: close", method="GET", path=path))


TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


def frame(opcode: int, payload: bytes = b"", *, last: bool = True) -> bytes:
    """Return a frame of a WebSocket client, with a mask of zeros."""
    size = len(payload)
    length = bytes([128 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
    return bytes([last << 7 | opcode]) + length + bytes(4) + payload


BEGUN, EMPTY = frame(TEXT, last=False), frame(0, last=False)
"""The first frame of a message that continues, and an empty frame that continues it."""


def by_websocket(frames: bytes, patience: float = 5.0) -> Sent:
    """Return a WebSocket connection that sends frames and reads what the server sends."""
    lines = (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Protocol: graphql-transport-ws",
    )
    return Sent(head(ATTACKER, *lines, method="GET"), frames, patience=patience)


def subscribing(query: str) -> Sent:
    """Return a connection that subscribes to ``query``, and ends after a second."""
    subscribe = {"id": "1", "type": "subscribe", "payload": {"query": query}}
    messages = json.dumps({"type": "connection_init"}), json.dumps(subscribe)
    return by_websocket(b"".join(frame(TEXT, one.encode()) for one in messages), patience=1.0)


def flooding(frames: bytes, megabytes: float, begun: bytes = b"") -> Sent:
    """Return a connection that sends the same frames many times, and then closes."""
    return by_websocket(begun + frames * int(megabytes * 1e6 / len(frames)) + frame(CLOSE))


def spreading(spreads: Sequence[Iterable[int]], root: Iterable[int] = (0,), name: str = "f") -> str:
    """Return a document in which fragment n spreads the fragments ``spreads[n]``."""

    def spread(numbers: Iterable[int]) -> str:
        return " ".join(f"...{name}{number}" for number in numbers) or "__typename"

    fragments = [f"fragment {name}{n} on Query{{{spread(to)}}}" for n, to in enumerate(spreads)]
    return " ".join([f"{{{spread(root)}}}", *reversed(fragments)])


def cycles(fragments: int) -> str:
    """Return a document whose fragments each spread all others."""
    numbers = range(fragments)
    return spreading([[other for other in numbers if other != one] for one in numbers])


def chain(fragments: int, root: Iterable[int], name: str) -> str:
    """Return a document with a chain of fragments. The operation spreads those in ``root``."""
    return spreading([*([number] for number in range(1, fragments)), []], root, name)


def aliased(field: str, times: int = 29) -> str:
    """Return a field with this number of aliases."""
    return " ".join(f"a{number}: {field}" for number in range(times))


def nested(below: str, times: int, lists: str = "comments(first: 100) { nodes { product {") -> str:
    """Return a list inside a list, ``times`` times, with ``below`` in the innermost list."""
    return f"{lists} " * times + below + " }" * lists.count("{") * times


def products(fields: str, times: int = 100) -> Sent:
    """Return a query of the same product ``times`` times."""
    ids = ["1"] * times
    return by_post(f"query($ids: [ID!]!) {{ products(productIds: $ids) {{ {fields} }} }}", ids=ids)


def large_results(times: int = 29) -> list[Sent]:
    """Return operations whose results could be much larger than an answer may be."""
    languages = "statistics { facets { languages { language count } } }"
    return [
        products(aliased("comments(first: 100) { jsonLd }", times), 1),
        products(f"comments(first: 100) {{ {aliased('jsonLd', times)} }}", 1),
        products(f"comments(first: 100) {{ nodes {{ {aliased('text', times)} }} }}", times),
        products(aliased(languages, times), times),
        products(nested("productId", times % 4, "group { products {"), 1),
        products(nested("text", 1, "comments(first: 100) { nodes {"), times),
        subscribing(
            'subscription { commentEvents(productId: "1") { commentEdge { node { product { '
            f"{aliased(languages, times)} }} }} }} }} }}"
        ),
    ]


def form(jwt: str) -> Sent:
    """Return the request of the form at /sign-in."""
    kind = "application/x-www-form-urlencoded"
    return Sent(post(f"jwt={jwt}".encode(), ATTACKER, path="/sign-in", kind=kind))


def unknown_field(name: str) -> Sent:
    """Return a mutation with an unknown field in its input."""
    query = "mutation($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }"
    return by_post(query, input={name: 1})


def identifier(text: str) -> Sent:
    """Return a query of a product with this id."""
    return by_post("query($id: ID!) { product(productId: $id) { id } }", id=text)


def floats(size: float, lists: int) -> Sent:
    """Return lists with a float as their size. Each row reads comments of its author."""
    rows = "comments(first: $size) { nodes { author { comments(first: 2) { nodes { id } } } } }"
    products = (
        f'a{number}: product(productId: "{number}") {{ {rows} }}' for number in range(lists)
    )
    return by_post(f"query($size: Int) {{ {' '.join(products)} }}", size=size)


def chunked(trailers: str, *lines: str, version: str = "1.1", hosts: int = 1) -> bytes:
    """Return a POST with one chunk and with trailers."""
    content = body("{viewer{username}}")
    kinds = "Transfer-Encoding: chunked", f"Content-Type: {JSON}", "Connection: close"
    begun = head(ATTACKER, *kinds, *lines, version=version, hosts=hosts)
    return begun + b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(content), content, trailers.encode())


def signed_by_trailer() -> Sent:
    """Return a request with its JWT in a trailer, which the server must ignore."""
    return Sent(chunked(f"{authorization('ana')}\r\n"), never=b'"username":"ana"')


def unlawful_heads(size: int = 70_000) -> list[Sent]:
    """Return requests with too large heads, with no or two Host headers, or of HTTP/1.0."""
    requests = (
        chunked("", f"X-Long: {'a' * size}"),
        chunked("", *["X-Many: 1"] * (size // 10)),
        chunked("", hosts=0),
        chunked("", hosts=2),
        chunked("", version="1.0"),
    )
    return [Sent(data, never=b"HTTP/1.1 200") for data in requests]
