"""The families of the fuzzer's requests. The seed and a number determine each request."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any
from urllib.parse import quote

from graphql import GraphQLSchema, get_introspection_query

from schema.build import build_schema
from tests.feature_lists import added, merged
from tests.integration.patterns import EXAMPLES
from tests.server.serving import SECRET
from tools.trials import hurtful
from tools.trials.attack import Attack
from tools.trials.fuzz.documents import document, value
from tools.trials.hurtful import JSON, Sent, authorization, body, by_post

MEDIA_TYPES = (JSON, "application/graphql-response+json", "*/*", "text/html", "a/b;q=x", "")

UNFINISHED = 0.5
"""Seconds to wait for the response to a request that may be incomplete."""

_TOKENS = (
    *b'{ } ... [ ] " \\u0000 \\ud800 null -1 1e999 $ subscription'.split(),
    *(b"9" * 50, b"\xff\xfe", b"\r\n", b"\r\n\r\n", b"\x00", b"@include(if: "),
    b"fragment a on Query {",
)

_QUOTES = ('"', '"\\', '"""', '"\\"', '"""\\', '"a', "'. ?", "'", "' Found: ", "'?, found")
"""Parts of strings, and of graphql-core's error messages."""

_KEYS = ("#", "/", "%", "a", "é", "\u202e")
"""Characters that are escaped in keys of the table, and others."""


def _body(rng: random.Random) -> Sent:
    return Sent(_post(rng, changed(rng, rng.choice(_KNOWN))))


def _request(rng: random.Random) -> Sent:
    """Return a request with random changes. Its head may announce a longer body."""
    return Sent(changed(rng, _post(rng, rng.choice(_KNOWN))), patience=UNFINISHED)


def _of_schema(rng: random.Random) -> Sent:
    text, variables = document(rng, _SCHEMA)
    if rng.random() < 0.2:
        given = f"query={quote(text)}&variables={quote(json.dumps(variables))}"
        return Sent(_head(rng, "GET", f"/graphql?{given}", 0))
    return Sent(_post(rng, body(text, **variables)))


def _entities(rng: random.Random) -> Sent:
    """Return representations as a gateway sends them.

    Some are wrong, and some requests have too many.
    """
    count = rng.choice((0, 1, 5, 20, 100, 101, 1_000))
    kind = _SCHEMA.type_map["_Any"]
    return by_post(_ENTITIES, of=[value(rng, kind) for _ in range(count)])


def _cycles(rng: random.Random) -> Sent:
    """Return a request by POST, GET or WebSocket whose fragments spread most other fragments."""
    numbers, share = range(rng.randint(2, 16)), rng.choice((0.3, 0.8, 1.0))
    spreads = [[one for one in numbers if rng.random() < share] for _ in numbers]
    way = rng.choice((by_post, hurtful.by_get, hurtful.subscribing))
    return way(hurtful.spreading(spreads))


def _spreads(rng: random.Random) -> Sent:
    """Return a chain of fragments with new names. The operation also spreads most of them."""
    count = rng.randint(85, 98)
    root = rng.sample(range(count), rng.randint(count * 3 // 4, count))
    return by_post(hurtful.chain(count, root, f"f{rng.getrandbits(24):x}x"))


def _strings(rng: random.Random) -> Sent:
    return by_post(_repeated(rng, rng.choice(_QUOTES), 20_000))


def _fields(rng: random.Random) -> Sent:
    return hurtful.unknown_field(_repeated(rng, rng.choice(_QUOTES), 240_000))


def _identifiers(rng: random.Random) -> Sent:
    return hurtful.identifier(_repeated(rng, rng.choice(_KEYS), 900_000))


def _forms(rng: random.Random) -> Sent:
    return hurtful.form(_repeated(rng, rng.choice(("a", "a-", "a.", "_", "a.a.", "%20")), 60_000))


def _repeated(rng: random.Random, token: str, most: int) -> str:
    """Return a token repeated at random, in at most ``most`` bytes."""
    return token * (rng.randint(1, most) // len(token.encode()))


def _floats(rng: random.Random) -> Sent:
    return hurtful.floats(rng.choice((1.0, 20.5, 50.0, 100.0, 1e300)), rng.randint(1, 3))


def _trailers(rng: random.Random) -> Sent:
    line = rng.choice(("a:\r\n", "a: b\r\n", f"a: {'b' * 1000}\r\n"))
    many = Sent(hurtful.chunked(_repeated(rng, line, 1_900_000)))
    return rng.choice((many, hurtful.signed_by_trailer()))


def _frames(rng: random.Random) -> Sent:
    ping = hurtful.frame(hurtful.PING, b"a" * rng.choice((0, 125)))
    begun, frames = rng.choice(
        (
            (b"", ping),
            (b"", hurtful.frame(hurtful.PONG)),
            (hurtful.BEGUN, hurtful.EMPTY),
            (hurtful.BEGUN, hurtful.EMPTY + ping),
        )
    )
    return hurtful.flooding(frames, 10 ** rng.uniform(-3, 1), begun)


def _results(rng: random.Random) -> Sent:
    return rng.choice(hurtful.large_results(rng.randint(1, 29)))


def _heads(rng: random.Random) -> Sent:
    return rng.choice(hurtful.unlawful_heads(rng.randint(70_000, 900_000)))


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of request: a function that draws one, its share, and its clients with their rate."""

    draw: Callable[[random.Random], Sent]
    share: float = 0.001
    clients: int = 30
    rate: float = 30.0


_MANY = partial(Family, clients=16, rate=inf)

FAMILIES: Mapping[str, Family] = {
    "cycles": Family(_cycles),
    "spreads": Family(_spreads, 0.002),
    "strings": Family(_strings),
    "fields": Family(_fields),
    "identifiers": Family(_identifiers),
    "forms": Family(_forms),
    "entities": Family(_entities, 0.005),
    "floats": Family(_floats, rate=2.0),
    "trailers": Family(_trailers),
    "frames": Family(_frames),
    "heads": Family(_heads),
    "results": Family(_results, 0.005),
    "bodies": _MANY(_body, 0.4),
    "requests": _MANY(_request, 0.2),
    "documents": _MANY(_of_schema, 0.4),
}
"""One client sends the families that have a rate. Those without come from a trusted proxy."""


def attacks(names: list[str], requests: int, seed: int) -> Iterator[Attack]:
    """Yield an attack for each of these families. Together they send ``requests`` requests."""
    chosen = {name: FAMILIES[name] for name in names}
    whole = sum(one.share for one in chosen.values())
    for name, family in chosen.items():
        count = max(1, round(requests * family.share / whole))
        drawn = (family.draw(random.Random(f"{seed}/{name}/{n}")) for n in range(count))
        yield Attack(name, drawn, family.clients, family.rate)


def changed(rng: random.Random, data: bytes) -> bytes:
    """Return ``data`` with up to four random changes."""
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


def _post(rng: random.Random, content: bytes) -> bytes:
    return _head(rng, "POST", "/graphql", len(content)) + content


def _head(rng: random.Random, method: str, path: str, length: int) -> bytes:
    lines = [
        "Connection: close",
        f"Content-Length: {length}",
        f"Content-Type: {JSON if rng.random() < 0.97 else rng.choice(MEDIA_TYPES)}",
        f"Accept: {JSON if rng.random() < 0.7 else rng.choice(MEDIA_TYPES)}",
    ]
    if rng.random() < 0.8:
        lines.append(rng.choice(_AUTHORIZATIONS))
    return hurtful.head(*lines, method=method, path=path)


_SCHEMA: GraphQLSchema = build_schema(federation=True)._schema
_ENTITIES = """query ($of: [_Any!]!) { _entities(representations: $of) {
  __typename
  ... on Product { id comments(first: 2) { nodes { text } } }
  ... on Comment { id text author { name } }
  ... on Author { id comments(first: 2) { nodes { text } } }
} }"""
_AUTHORIZATIONS = (
    authorization("ana"),
    *(
        f"Authorization: Bearer {jwt_of(grant, SECRET)}"
        for jwt_of in added("grant_jwt")
        for grant in merged(dict[str, Any](), "WHO").values()
    ),
)
"""The headers of a user, and of visitors with a grant."""

_KNOWN = [
    *(body(example.pattern.operation) for example in EXAMPLES.values()),
    body(get_introspection_query()),
    body(
        "mutation($input: AddCommentInput!) { addComment(input: $input) {"
        " comment { id } userErrors { field message code } } }",
        input={
            "productId": "1",
            "rating": 5,
            "language": "en",
            "text": "good",
            "idempotencyKey": "k",
        },
    ),
    body(
        "mutation($input: UpdateCommentInput!) { updateComment(input: $input) {"
        " comment { aspects { name rating } } userErrors { field message code } } }",
        input={"id": "Q29tbWVudDox", "aspects": [{"name": "fit", "rating": 5}]},
    ),
    body(
        "mutation($input: CreateOrganizationInput!) { createOrganization(input: $input) {"
        " organization { id } userErrors { field message code } } }",
        input={"name": "acme", "subscriptionPlan": "free"},
    ),
    body(
        "mutation($input: UpdateProfileInput!) { updateProfile(input: $input) {"
        " user { id } userErrors { field message code } } }",
        input={"fullName": "Ana", "email": "ana@example.org"},
    ),
    *(
        body(f"mutation {{ {name}(input: {{ {given} }}) {{ userErrors {{ code }} }} }}")
        for name, given in merged(dict[str, str](), "MUTATIONS").items()
    ),
]
"""Valid bodies of requests: every access pattern, introspection and writes."""
