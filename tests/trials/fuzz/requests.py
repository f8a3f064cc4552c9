"""HTTP requests as bytes: drawn from the schema, or a known one with some bytes changed."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from graphql import GraphQLSchema, get_introspection_query

from tests.integration.patterns import EXAMPLES
from tests.trials.fuzz.documents import document

JSON = "application/json"
MEDIA_TYPES = (JSON, "application/graphql-response+json", "*/*", "text/html", "a/b;q=x", "")

_WRITES = (
    (
        (
            "mutation($input: AddCommentInput!) { addComment(input: $input) {"
            " comment { id } userErrors { field message code } } }"
        ),
        {"productId": "1", "rating": 5, "language": "en", "text": "good", "idempotencyKey": "k"},
    ),
    (
        (
            "mutation($input: CreateOrganizationInput!) { createOrganization(input: $input) {"
            " organization { id } userErrors { field message code } } }"
        ),
        {"name": "acme", "subscriptionPlan": "free"},
    ),
    (
        (
            "mutation($input: UpdateProfileInput!) { updateProfile(input: $input) {"
            " user { id } userErrors { field message code } } }"
        ),
        {"fullName": "Ana", "email": "ana@example.org"},
    ),
)

_TOKENS = (
    b"{",
    b"}",
    b"...",
    b"[",
    b"]",
    b'"',
    b"\\u0000",
    b"\\ud800",
    b"null",
    b"-1",
    b"1e999",
    b"9" * 50,
    b"\xff\xfe",
    b"\r\n",
    b"\r\n\r\n",
    b"\x00",
    b"$",
    b"@include(if: ",
    b"fragment a on Query {",
    b"subscription",
)


@dataclass(frozen=True, slots=True)
class Sent:
    """One request; ``whole`` says that its end can be seen, so an answer must come."""

    data: bytes
    kind: str
    whole: bool = True


class Requests:
    """Draws the requests of one schema, each the same for the same number and seed."""

    def __init__(self, schema: GraphQLSchema, authorization: str, seed: int) -> None:
        self._schema = schema
        self._authorization = authorization
        self._seed = seed
        self._known = _known()

    def drawn(self, number: int) -> Sent:
        """Return request ``number``: bytes changed in three of five, else as the schema has it."""
        rng = random.Random(f"{self._seed}/{number}")
        kinds: Sequence[Callable[[random.Random], Sent]] = (
            self._changed_body,
            self._changed_body,
            self._changed_request,
            self._of_schema,
            self._of_schema,
        )
        return kinds[number % len(kinds)](rng)

    def _of_schema(self, rng: random.Random) -> Sent:
        text, variables = document(rng, self._schema)
        if rng.random() < 0.2:
            return Sent(self._get(rng, text, variables), "GET drawn from the schema")
        body = {"query": text, "variables": variables}
        return Sent(self._post(rng, json.dumps(body).encode()), "POST drawn from the schema")

    def _changed_body(self, rng: random.Random) -> Sent:
        body = changed(rng, rng.choice(self._known))
        return Sent(self._post(rng, body), "body with bytes changed")

    def _changed_request(self, rng: random.Random) -> Sent:
        """Return a request changed anywhere; its head may promise more than comes."""
        known = rng.choice(self._known)
        data = changed(rng, self._post(rng, known))
        return Sent(data, "request with bytes changed", whole=False)

    def _post(self, rng: random.Random, body: bytes) -> bytes:
        return self._head(rng, "POST", "/graphql", len(body)) + body

    def _get(self, rng: random.Random, text: str, variables: object) -> bytes:
        given = f"query={quote(text)}&variables={quote(json.dumps(variables))}"
        return self._head(rng, "GET", f"/graphql?{given}", 0)

    def _head(self, rng: random.Random, method: str, path: str, length: int) -> bytes:
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: 127.0.0.1",
            "Connection: close",
            f"Content-Length: {length}",
            f"Content-Type: {JSON if rng.random() < 0.97 else rng.choice(MEDIA_TYPES)}",
            f"Accept: {JSON if rng.random() < 0.7 else rng.choice(MEDIA_TYPES)}",
        ]
        if rng.random() < 0.8:
            lines.append(f"Authorization: {self._authorization}")
        return "\r\n".join([*lines, "", ""]).encode()


def changed(rng: random.Random, data: bytes) -> bytes:
    """Return ``data`` with one to four places changed."""
    work = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(work) + 1)
        to = min(len(work), at + rng.choice((0, 1, 1, 2, 8, 40)))
        match rng.randrange(5):
            case 0:
                work[at:to] = rng.randbytes(to - at)
            case 1:
                del work[at:to]
            case 2:
                work[at:at] = rng.choice(_TOKENS)
            case 3:
                work[at:at] = work[at:to] * rng.choice((1, 3, 200))
            case 4:
                work[at:to] = rng.choice(_TOKENS)
    return bytes(work)


def _known() -> list[bytes]:
    """Return bodies that are answered well: every access pattern, writes and introspection."""
    texts = [example.pattern.operation for example in EXAMPLES.values()]
    bodies: list[object] = [{"query": text} for text in [*texts, get_introspection_query()]]
    bodies += [{"query": text, "variables": {"input": given}} for text, given in _WRITES]
    return [json.dumps(body).encode() for body in bodies]
