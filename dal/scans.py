"""Scans of the whole table in segments, side by side: for maintenance, never for a request."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeAlias

from dal.dynamodb import Table
from dal.items import Item

SEGMENTS = 4

Seen: TypeAlias = Callable[[int], None]
"""Takes note of how many items a scan has seen so far."""


async def pages(
    table: Table, segment: int, start: Item | None = None
) -> AsyncIterator[tuple[Sequence[Item], Item | None]]:
    """Yield what follows ``start`` in one segment: items, and their last key, None at the end.

    Items are as the latest acknowledged write left them when their page was read. What is there
    from before the scan until after it is seen once.
    """
    while True:
        answer = await table.scan(segment, SEGMENTS, start)
        yield answer.items, answer.last_key
        if answer.last_key is None:
            return
        start = answer.last_key


class Count:
    """Counts what several segments see, and tells it on."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._items = 0

    def add(self, items: Sequence[Item]) -> None:
        """Take note of one page."""
        self._items += len(items)
        self._seen(self._items)
