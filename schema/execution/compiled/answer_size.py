"""Counts the values and bytes of a result while it is completed, and ends an operation in time.

A large result is completed in several turns of the event loop, so that other requests can run.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import Any

PACED_VALUES = 2_000
"""A result with more values than this is completed in several turns of the event loop."""

LARGE = 300
"""Number of values after which the completion of a large result waits for its next turn. 300 values
take a few milliseconds."""

SHORT = 10
"""Maximum number of items of a list that is completed in one turn. The items of such a list have at
most LARGE values, unless they have further lists."""

LONG = 99
"""Maximum characters of a text whose bytes are not counted exactly."""

SMALL = 100_000
"""Maximum bytes of a result whose characters are counted as one byte each, because measuring the
bytes of texts takes longer. The bytes of such a result are at most four times as many."""


class AnswerTooLargeError(Exception):
    """A result has too many values or bytes."""


class AnswerSize:
    """The number of values and bytes of one operation's result so far, and their limits.

    A list counts as many values as it has items, but at least one. Every other field counts as one
    value. ``most`` is the maximum number of values, and ``most_bytes`` of bytes. ``error`` is the
    class of the error above a maximum. Any error of this class ends a query, or the result of an
    event. ``paced`` is whether the result is expected to have more than PACED_VALUES values.
    ``turn`` waits for a turn of the event loop.
    """

    __slots__ = (
        "_giving",
        "_paced",
        "_turn",
        "_turned",
        "_waiting",
        "bytes",
        "error",
        "most",
        "most_bytes",
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
        self.bytes = 0
        self.error = error
        self.most = most
        self.most_bytes = most_bytes
        self._paced = paced
        self._turn = turn
        self._turned = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] | None = None
        """The waiters while ``_give_turns`` runs."""

    def add(self, values: int, size: int) -> None:
        """Count values and bytes. Raise ``error`` if there are too many."""
        self.values += values
        self.bytes += size
        if self.values > self.most:
            raise self.error(
                f"The operation has ended, because its result has more than {self.most:,.0f} "
                "values: select fewer rows or fewer lists at a time."
            )
        if self.bytes > self.most_bytes:
            raise self.error(
                f"The operation has ended, because its result is larger than {self.most_bytes:,} "
                "bytes: select fewer rows or fields."
            )

    @property
    def is_full(self) -> bool:
        """Whether the result has too many values or bytes."""
        return self.values > self.most or self.bytes > self.most_bytes

    def add_text(self, text: str) -> None:
        """Count the bytes of a text, but measure it only if its characters are not too many."""
        self.add(0, len(text))
        if self.bytes > SMALL:
            self.add(0, bytes_of(text) - len(text))

    def listed(self, items: Sequence[Any]) -> bool:
        """Count a list's items. Return whether they are completed in several turns.

        A short list is completed at once unless the operation must wait for its next turn.
        """
        if len(items) > 1:
            self.add(len(items) - 1, len(items))
        if self._turn is None or not (self._paced or self.values > PACED_VALUES):
            return False
        return self.due or len(items) > SHORT

    @property
    def due(self) -> bool:
        """Whether the operation must wait for its next turn."""
        return self.values - self._turned > LARGE

    async def turn(self, size: int) -> None:
        """Wait for the operation's next turn, in which at least ``size`` values will be added.

        Each turn continues as many waiters as fit in it, the first ones first. These waiters share
        the reads of a batch. All operations take turns, so that an operation with few rows does not
        wait for all rows of another operation.
        """
        waiter = asyncio.get_running_loop().create_future()
        if self._waiting is None:
            self._waiting = deque()
            self._giving = asyncio.create_task(self._give_turns(self._waiting))
        self._waiting.append((size, waiter))
        await waiter

    async def _give_turns(self, waiting: deque[tuple[int, asyncio.Future[None]]]) -> None:
        assert self._turn is not None  # noqa: S101 - otherwise ``listed`` is False
        while waiting:
            await self._turn()
            self._turned, left = self.values, LARGE
            while waiting and left > 0:
                size, waiter = waiting.popleft()
                if not waiter.done():  # the waiter may be cancelled
                    waiter.set_result(None)
                    left -= size
        self._waiting = None


def bytes_of(*texts: str | None) -> int:
    """Return the number of bytes of texts in UTF-8. None counts as an empty text."""
    return sum(
        [
            len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
            for text in texts
            if text
        ]
    )
