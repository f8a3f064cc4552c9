"""A pace for writes of many items: what they consume, by what the store tells of each."""

from asyncio import Lock, sleep
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

from dal.table.account import opened

_FIRST = 1_000.0
"""WCU that a write is taken to consume until one has told: about a hundred comments' worth."""


_LOOKS_EVERY = 0.1
"""Seconds."""


class Pace:
    """Lets writes begin so that together they consume at most ``units`` WCU a second.

    What a write consumes is known after it, and may be more than a second's units: its turn comes
    when all before are paid for, with what the latest consumed standing for those under way. None
    is no limit.
    """

    def __init__(self, units: float | None = None) -> None:
        self._units = units
        self._turns = Lock()
        self._due = 0.0
        self._expected = _FIRST

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of the write that the block does."""
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
                self._due += (account.wcu - reserved) / self._units
                self._expected = account.wcu or reserved
