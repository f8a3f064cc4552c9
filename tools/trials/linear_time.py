"""Checks by processor time that clients' texts take linear time, also in C code.

A text four times as long takes less than eight times as long, in every regular expression, in every
other function that scans a client's text, and in the requests for pages. The machine needs to be
without other load.
"""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import httpx

from dal.dynamodb import admin
from dal.dynamodb.table import TableAddress, connect
from dal.entities import INDEXES
from schema.execution.documents import MAX_DOCUMENT
from tests.engines import dynoxide
from tests.feature_lists import merged
from tests.pages.conftest import client_of, jwt_of, opened
from tests.pages.test_long_fields import requests
from tests.scans import REFUSALS, SCANNERS, Text, expressions, repeats, tokens_of
from tests.server.applications import app_of
from tools.trials.reporting import CONSOLE, finish

BEGIN, MOST, ENOUGH = 512, MAX_DOCUMENT, 0.0005
"""The first and the maximum number of characters, and the minimum seconds of a comparable time."""

LIMIT = 20.0
"""Seconds of processor time after which a scan is stopped, because an exponential scan does not
end."""

RUNS = (1, 2, 4, 8)
"""Numbers of runs. With more runs, the fastest run is more exact."""


class TooSlowError(Exception):
    """A scan takes more than ``LIMIT`` seconds."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise TooSlowError if the block takes more than ``LIMIT`` seconds of processor time."""

    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds(scan: Callable[[str], object], text: str, runs: int = 1) -> float:
    """Return the processor time of the fastest run."""
    best = float("inf")
    with limited():
        for _ in range(runs):
            began = time.thread_time()
            with suppress(*REFUSALS):
                scan(text)
            best = min(best, time.thread_time() - began)
    return best


def is_linear(scan: Callable[[str], object], text: Text) -> bool:
    """Return whether four times the text takes less than eight times as long.

    The text's length is doubled until its time can be compared. Scans that are fast at ``MOST`` are
    not compared. Quadratic time would be sixteen times as long, so both times may be wrong by a
    factor of two.
    """
    n = BEGIN
    small = large = float("inf")
    with suppress(TooSlowError):
        while seconds(scan, text(n)) < ENOUGH and 8 * n <= MOST:
            n *= 2
        for runs in RUNS:
            small = min(small, seconds(scan, text(n), runs))
            large = min(large, seconds(scan, text(4 * n), runs))
            if large < max(4 * ENOUGH, 8 * small):
                return True
    return False


def slow_functions() -> Iterator[str]:
    """Yield the names of the functions, and the texts, that take more than linear time."""
    for found in expressions():
        binary = isinstance(found.pattern.pattern, bytes)
        for method in found.methods:
            call = getattr(found.pattern, "findall" if method == "finditer" else method)
            if method == "sub":
                call = partial(call, b"" if binary else "")

            def scan(text: str, call: Any = call, binary: bool = binary) -> None:
                call(text.encode("latin-1", "replace") if binary else text)

            for title, text in repeats(tokens_of(found.pattern)):
                if not is_linear(scan, text):
                    yield f"{found.name}: {method} of {title}"
    for name, scanner in merged(SCANNERS, "SCANNERS").items():
        for title, text in repeats([*scanner.tokens.split(" "), " "]):
            if not is_linear(scanner.scan, text):
                yield f"{name}: {title}"


async def slow_pages() -> list[str]:
    """Return the requests for pages that take more than linear time."""
    slow = []
    with dynoxide() as url:
        async with connect(TableAddress("pages", url, embedded=True)) as table:
            await admin.create(table, INDEXES)
            async with client_of(app_of(table), jwt_of("ann")) as client:
                key = (await opened(client, "/products/long")).fields()["form_key"]
                for short, long in requests(client, key):
                    if not await _is_linear(
                        partial(client.send, short), partial(client.send, long)
                    ):
                        slow.append(f"{short.method} {short.url.path[:40]}")
    return slow


async def _is_linear(
    short: Callable[[], Awaitable[httpx.Response]], long: Callable[[], Awaitable[httpx.Response]]
) -> bool:
    small = large = float("inf")
    for _ in range(sum(RUNS)):
        began = time.thread_time()
        await short()
        middle = time.thread_time()
        await long()
        small, large = min(small, middle - began), min(large, time.thread_time() - middle)
        if large < 8 * small:
            return True
    return False


if __name__ == "__main__":
    slow = [*slow_functions(), *asyncio.run(slow_pages())]
    CONSOLE.print(f"{len(slow)} scans take more than linear time.")
    finish(slow)
