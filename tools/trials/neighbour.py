"""Requests pages while another client attacks the server within its rate.

The trial takes 8 minutes: 12 seconds for each attack, and 15 seconds for each server that starts.
After a broken promise, the next attack gets a new server.

Exits with 1 if:

- the neighbour's 99th percentile is more than 200 ms
- the server's memory grows too much
- the server responds with 5xx or INTERNAL, or accepts a request that it must refuse
- the server reads more than it predicted.
"""

import argparse
import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from dal.dynamodb.table import TableAddress, connect
from dal.maintenance.tables import create_table
from tests.engines import dynoxide
from tests.proxy import Choose, Proxy, hang, nothing, proxy_of, spoilt
from tests.schema.execution.test_limits import HURTFUL, doubling
from tools.trials import hurtful
from tools.trials.attack import Attack, Row, demo, report, rows_of
from tools.trials.hurtful import Sent, authorization, body, by_post, head, post
from tools.trials.reporting import finish

SLICES = 3
RATE = 30

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
_COMMENT = {"productId": "new", "rating": 5, "language": "en", "text": "good"}


def _commented(size: int) -> Iterable[bytes]:
    """Yield documents that all differ. Each is mostly one GraphQL comment."""
    return (body(f"# {number}{'x' * size}\n{{__typename}}") for number in itertools.count())


BODIES: Mapping[str, Iterable[bytes]] = {
    "fragments that double": [body(doubling("__typename"))],
    "invalid documents": [body(text) for text in HURTFUL.values()],
    "several operations": [body(_TWO)],
    "0.9 MB of wrong variables": [body(_ADD, input=_UNKNOWN)],
    "4 kB of unknown fields": [body("{" + " ".join(f"u{n}" for n in range(900)) + "}")],
    "the same field 210 times": [body(HURTFUL["many identical fields"])],
    "lists in fragments": [body(HURTFUL["many lists in fragments"])],
    "integers of 4,200 digits": [body(HURTFUL["many long integers"])],
    "pages of pages": [body(f'{{ product(productId: "1") {{ {_PAGES} }} }}')],
    "statistics of 10,000": [body(_OF_IDS, ids=["UHJvZHVjdDox"] * 100)],
    "the largest page": [
        body('{ product(productId: "1") { comments(first: 100) { nodes { id title text } } } }')
    ],
    "documents of 90 kB": _commented(90_000),
    "documents of 900 kB": _commented(900_000),
    "30,000 language tags": [
        body(_FILTERED, tags=[f"x{number:07x}" for number in range(start, start + 30_000)])
        for start in range(0, 300_000, 30_000)
    ],
    "a body beyond the limit": [b" " * 5_000_000],
}
"""Bodies that are sent one after another, without a rate."""

_HEAD = b"POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\n"
_BODY = head("Content-Length: 1000", "Content-Type: application/json") + b"{"
_PING, _LONG_PING = hurtful.frame(hurtful.PING), hurtful.frame(hurtful.PING, b"a" * 125)

HELD: Mapping[str, tuple[int, Sent]] = {
    "300 idle connections": (300, Sent(b"", patience=20)),
    "300 half-sent heads": (300, Sent(_HEAD, patience=20)),
    "300 half-sent bodies": (300, Sent(_BODY, patience=20)),
    "160 MB of unread pongs": (1, hurtful.flooding(_LONG_PING, 160)),
}
"""Connections that stay open: their number, and what each sends."""

_CYCLES = hurtful.cycles(14)
_CHAINS = (by_post(hurtful.chain(98, range(98), f"f{number}x")) for number in itertools.count())

STREAMS: Mapping[str, Iterable[Sent]] = {
    "cycles by POST": [by_post(_CYCLES)],
    "cycles by GET": [hurtful.by_get(_CYCLES)],
    "cycles by WebSocket": [hurtful.subscribing(_CYCLES)],
    "unterminated strings": [by_post('"\\' * 9_990)],
    "unknown fields of '. ?": [hurtful.unknown_field("'. ?" * 60_000)],
    "identifiers of 900 kB": [hurtful.identifier("#" * 900_000)],
    "forms of 60 kB": [hurtful.form("a" * 60_000)],
    "trailers of 1.9 MB": [Sent(hurtful.chunked("a:\r\n" * 475_000))],
    "trailers that sign in": [hurtful.signed_by_trailer()],
    "8 MB of pings": [hurtful.flooding(_PING, 8)],
    "8 MB of empty fragments": [hurtful.flooding(hurtful.EMPTY, 8, hurtful.BEGUN)],
    "98 chained fragments": _CHAINS,
    "sizes as floats": [hurtful.floats(100.0, 3)],
    "unlawful heads": hurtful.unlawful_heads(),
    "large results": hurtful.large_results(),
}
"""Requests that one client sends ``RATE`` times a second, on at most as many connections."""


def attacks() -> list[Attack]:
    """Return all attacks on a server with the embedded engine."""
    by_body = (Attack(name, _repeated(bodies)) for name, bodies in BODIES.items())
    holding = (
        Attack(name, itertools.repeat(sent), clients) for name, (clients, sent) in HELD.items()
    )
    streams = (
        Attack(name, itertools.cycle(sent), clients=RATE, rate=RATE)
        for name, sent in STREAMS.items()
    )
    return [*streams, *by_body, *holding]


def _repeated(bodies: Iterable[bytes]) -> Iterable[Sent]:
    repeated = itertools.cycle(bodies) if isinstance(bodies, list) else bodies
    return (Sent(post(one, authorization("ana"))) for one in repeated)


def no_answer_to_writes() -> Choose:
    """Return a fault for every write: it gets no response."""
    return lambda operation, _: hang if operation == "TransactWriteItems" else None


def wrong_answers_to_writes() -> Choose:
    """Return a fault for half of the requests of writes: a wrong response.

    Each run chooses the same requests.
    """
    rng = random.Random(1)
    asked = {"GetItem", "TransactWriteItems"}
    # ``{}`` is not among them, because it is a valid response to a write or to a read of a missing
    # item.
    wrong = [spoilt(b"<html></html>"), spoilt(b"")]
    return lambda operation, _: (
        rng.choice(wrong) if operation in asked and rng.random() < 0.5 else None
    )


FAULTS: Mapping[str, Callable[[], Choose]] = {
    "writes without a response": no_answer_to_writes,
    "wrong responses to writes": wrong_answers_to_writes,
}
"""Faults of the store that affect writers, while the neighbour reads."""


def _writers(proxy: Proxy, names: Iterable[str]) -> Iterator[Attack]:
    """Yield an attack of eight writers for each fault. Only their requests meet the fault."""

    def requests(choose: Choose) -> Iterator[Sent]:
        proxy.choose = choose
        yield from _repeated([body(_ADD, input=_COMMENT)])

    for name in names:
        yield Attack(name, requests(FAULTS[name]()), clients=8)
        proxy.choose = nothing


async def trial(chosen: list[str]) -> AsyncIterator[Row]:
    """Run the attacks: first on a server with its own engine, then on one with a faulty store."""
    with TemporaryDirectory() as folder:
        serve = partial(demo, Path(folder))
        async for row in rows_of(serve, [one for one in attacks() if one.name in chosen], SLICES):
            yield row
    faults = [name for name in FAULTS if name in chosen]
    with TemporaryDirectory() as folder, dynoxide() as engine:
        async with connect(TableAddress(endpoint_url=engine, embedded=True)) as table:
            await create_table(table)
        async with proxy_of(engine) as proxy:
            serve = partial(demo, Path(folder), "--endpoint-url", proxy.url)
            async for row in rows_of(serve, _writers(proxy, faults), SLICES):
                yield row


def main() -> None:
    """Run the trial and print its rows."""
    names = [*(one.name for one in attacks()), *FAULTS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--attack", nargs="+", default=names, choices=names, metavar="NAME")
    given = parser.parse_args()
    finish(asyncio.run(report(trial(given.attack))))


if __name__ == "__main__":
    main()
