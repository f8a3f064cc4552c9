"""Requests that would hurt, by what they are."""

import itertools
import json
import random
from collections.abc import Iterable, Mapping

from tests.proxy import Choose, hang, spoilt
from tests.schema.test_limits import HURTFUL, doubling
from tests.server.serving import bearer

Bodies = Iterable[bytes]


def head(length: int) -> bytes:
    lines = (
        "POST /graphql HTTP/1.1",
        "Host: 127.0.0.1",
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        f"Authorization: {bearer('ana')['Authorization']}",
    )
    return "\r\n".join([*lines, "", ""]).encode()


def body(query: str, **variables: object) -> bytes:
    return json.dumps({"query": query, "variables": variables}).encode()


_ADD = "mutation($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }"
_FILTERED = (
    'query($tags: [String!]) { product(productId: "1") { comments(language: $tags) {'
    " nodes { id } } } }"
)
_UNKNOWN = {
    "productId": "1",
    "rating": "x" * 100_000,
    "language": ["y"] * 100_000,
    **{f"unknown{number}": number for number in range(10_000)},
}
_TWO = 'mutation a{deleteComment(input:{id:"x"}){deletedId}} query b{__typename}'
_PAGES = "comments(first: 100) { nodes { product { comments(first: 100) { nodes { id } } } } }"
_OF_IDS = (
    "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Product { comments(first: 100) {"
    " nodes { product { statistics { total } } } } } } }"
)


_TAGS = [
    body(_FILTERED, tags=[f"x{number:07x}" for number in range(start, start + 30_000)])
    for start in range(0, 300_000, 30_000)
]


ATTACKS: Mapping[str, Bodies] = {
    "1 fragments that double": [body(doubling("__typename"))],
    "1 documents that are none": [body(text) for text in HURTFUL.values()],
    "2 several operations": [body(_TWO)],
    "3 0.9 MB of faults": [body(_ADD, input=_UNKNOWN)],
    "3 4 kB of unknown fields": [body("{" + " ".join(f"u{n}" for n in range(900)) + "}")],
    "4 the same field 210 times": [body(HURTFUL["many identical fields"])],
    "4 lists in fragments": [body(HURTFUL["many lists in fragments"])],
    "4 integers of 4,200 digits": [body(HURTFUL["many long integers"])],
    "4 pages of pages": [body(f'{{ product(productId: "1") {{ {_PAGES} }} }}')],
    "4 statistics of 10,000": [body(_OF_IDS, ids=["UHJvZHVjdDox"] * 100)],
    "4 the largest page": [
        body('{ product(productId: "1") { comments(first: 100) { nodes { id title text } } } }')
    ],
    "5 documents of 90 kB": (
        body(f"# {number}{'x' * 90_000}\n{{__typename}}") for number in itertools.count()
    ),
    "5 documents of 900 kB": (
        body(f"# {number}{'x' * 900_000}\n{{__typename}}") for number in itertools.count()
    ),
    "5 30,000 language tags": _TAGS,
    "6 a body beyond the limit": [b" " * 5_000_000],
}


HOLDS: Mapping[str, bytes] = {
    "6 300 idle connections": b"",
    "6 300 half-sent heads": b"POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "6 300 half-sent bodies": head(1000) + b"{",
}


def add_comment() -> bytes:
    """Return the body of a write."""
    return body(_ADD, input={"productId": "new", "rating": 5, "language": "en", "text": "good"})


def no_answer_to_writes() -> Choose:
    """Return what keeps every write waiting."""
    return lambda operation, _: hang if operation == "TransactWriteItems" else None


def wrong_answers_to_writes() -> Choose:
    """Return what spoils half of the answers to what a write asks, the same ones each time."""
    rng = random.Random(1)
    asked = {"GetItem", "TransactWriteItems"}
    wrong = [spoilt(b"{}"), spoilt(b"<html></html>"), spoilt(b"")]
    return lambda operation, _: (
        rng.choice(wrong) if operation in asked and rng.random() < 0.5 else None
    )


FAULTS: Mapping[str, Choose] = {
    "7 writes that get no answer": no_answer_to_writes(),
    "8 wrong answers to writes": wrong_answers_to_writes(),
}
"""What the store does to writers, beside whom the neighbour reads."""
