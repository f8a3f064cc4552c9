"""A pace for reads or writes of many items, and one for requests of which a few a second may be."""

from asyncio import Lock, sleep
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

from dal.account import opened

_FIRST = 1_000.0
"""WCU that a write is taken to consume until one has told: about a hundred comments' worth."""

_FIRST_READ = 256.0
"""RCU that a read is taken to consume: a megabyte, read consistently, as Scan answers at most."""


_LOOKS_EVERY = 0.1
"""Seconds."""


class Pace:
    """Lets requests begin so that together they consume at most ``units`` WCU a second, or RCU.

    What a request consumes is known after it, and may be more than a second's units: its turn
    comes when all before are paid for, with what the latest consumed standing for those under way.
    None is no limit. Of ``reads`` the RCU count, of others the WCU alone.
    """

    def __init__(self, units: float | None = None, *, reads: bool = False) -> None:
        self._units = units
        self._reads = reads
        self._turns = Lock()
        self._due = 0.0
        self._expected = _FIRST_READ if reads else _FIRST

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of the request that the block does."""
        if self._units is None:
            yield
            return
        async with self._turns:
            while (left := self._due - monotonic()) > 0:  # noqa: ASYNC110 - time is no event
                await sleep(min(left, _LOOKS_EVERY))  # those under way may cost less than expected
            reserved = self._expected
            self._due = max(self._due, monotonic()) + reserved / self._units
        with opened() as account:
            try:
                yield
            finally:
                consumed = account.rcu if self._reads else account.wcu
                self._due += (consumed - reserved) / self._units
                self._expected = consumed or reserved


class RateLimit:
    """Lets ``most`` requests begin at once, and then one each ``every`` seconds."""

    def __init__(self, every: float, most: int) -> None:
        self._every = every
        self._ahead = every * (most - 1)
        self._due = 0.0

    async def wait(self) -> None:
        """Wait for the turn of a request; turns are given in order of arrival."""
        now = monotonic()
        self._due = max(self._due, now - self._ahead)
        left, self._due = self._due - now, self._due + self._every
        if left > 0:
            await sleep(left)
