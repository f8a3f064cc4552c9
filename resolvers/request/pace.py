"""Gives up the event loop between parts of large answers."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

Row = TypeVar("Row")

LARGE = 300
"""Values of a list that are completed in one turn: some thousandths of a second."""


class Pace:
    """Lets others have the event loop between lists of an operation and between rows of large ones.

    Without it all that was read is completed in one go: a row takes little time, a thousand take
    what everybody else notices. A turn takes time too, so it begins with ``slow_down`` alone.
    """

    def __init__(self) -> None:
        self._turn: asyncio.Lock | None = None

    @property
    def slow(self) -> bool:
        """Whether lists are to be passed through ``rows``."""
        return self._turn is not None

    def slow_down(self) -> None:
        """Take turns from now on."""
        self._turn = asyncio.Lock()

    def rows(
        self, rows: Sequence[Row], weight: int
    ) -> Sequence[Awaitable[Row]] | Awaitable[Sequence[Row]]:
        """Return ``rows`` at their turn, each of ``weight`` values: at once, or one by one."""
        if len(rows) * weight > LARGE:
            return [self._wait(row) for row in rows]
        return self._wait(rows)

    async def _wait(self, awaited: Row) -> Row:
        assert self._turn is not None  # noqa: S101 - it is slow
        async with self._turn:
            await asyncio.sleep(0)
        return awaited
