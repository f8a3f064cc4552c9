"""Counts the values and bytes of a result while it is completed, and ends an operation in time.

A large result is completed in several turns of the event loop, so that other requests can run.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import Any

from strawberry.execution.is_awaitable import optimized_is_awaitable

PACED_VALUES = 2_000
"""A result with more values than this is completed in several turns of the event loop."""

LARGE = 300
"""Number of values after which the completion of a large result waits for its next turn. 300 values
take a few milliseconds."""

LONG = 99
"""Maximum characters of a text whose bytes are not counted exactly."""


class AnswerTooLargeError(Exception):
    """A result has too many values or bytes."""


class AnswerSize:
    """The number of values and bytes of one operation's result so far, and their limits.

    A list counts as many values as it has items, but at least one. Every other field counts as one
    value. ``most`` is the maximum number of values, and ``most_bytes`` of bytes. ``error`` is the
    class of the error above a maximum. Any error of this class ends the operation. ``paced`` is
    whether the result is expected to have more than PACED_VALUES values. ``turn`` waits for a turn
    of the event loop.
    """

    __slots__ = (
        "_bytes",
        "_most",
        "_most_bytes",
        "_next",
        "_paced",
        "_turn",
        "_turned",
        "error",
        "values",
    )

    def __init__(
        self,
        most: float = inf,
        most_bytes: float = inf,
        error: type[Exception] = AnswerTooLargeError,
        *,
        paced: bool = False,
        turn: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.values = 0
        self._bytes = 0
        self.error = error
        self._most = most
        self._most_bytes = most_bytes
        self._paced = paced
        self._turn = turn
        self._turned = 0
        self._next: asyncio.Event | None = None

    def add(self, values: int, size: int) -> None:
        """Count values and bytes. Raise ``error`` if there are too many."""
        self.values += values
        self._bytes += size
        if self.values > self._most:
            raise self.error(
                f"The operation has ended, because its result has more than {self._most:,.0f} "
                "values: select fewer rows or fewer lists at a time."
            )
        if self._bytes > self._most_bytes:
            raise self.error(
                f"The operation has ended, because its result is larger than {self._most_bytes:,} "
                "bytes: select fewer rows or fields."
            )

    def listed(self, items: Sequence[Any], *, leaves: bool) -> Sequence[Any]:
        """Count a list's items, and return them.

        The objects of a large result are returned as awaitables, which wait for their turns.
        ``leaves`` is whether the items are scalars or enums.
        """
        if len(items) > 1:
            self.add(len(items) - 1, len(items))
        if leaves or self._turn is None or not (self._paced or self.values > PACED_VALUES):
            return items
        return [self._in_turn(item, self._turn) for item in items]

    async def _in_turn(self, item: Any, turn: Callable[[], Awaitable[None]]) -> Any:
        # One item of an operation waits for the next turn, and the other items wait for this item.
        # So operations take turns: an operation with few rows does not wait for all rows of
        # another operation. Items of one turn continue together, and share the reads of a batch.
        while self.values - self._turned > LARGE:
            if self._next is not None:
                await self._next.wait()
                continue
            begun = self._next = asyncio.Event()
            try:
                await turn()
            finally:
                self._turned, self._next = self.values, None
                begun.set()
        return await item if optimized_is_awaitable(item) else item


def bytes_of(*texts: str | None) -> int:
    """Return the number of bytes of texts in UTF-8. None counts as an empty text."""
    return sum(
        [
            len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
            for text in texts
            if text
        ]
    )
