"""Parallel scans of the whole table in scan segments, for maintenance only."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeAlias

from dal.client.concurrency import in_parallel
from dal.client.table import Table
from dal.table.items import Item

SCAN_SEGMENTS = 4

Progress: TypeAlias = Callable[[int], None]
"""Gets the number of items that a scan has read."""


async def scan_pages(
    table: Table, segment: int, start: Item | None = None
) -> AsyncIterator[tuple[Sequence[Item], Item | None]]:
    """Yield the items after ``start`` in one scan segment, with their last key; None at the end.

    Each page is read consistently. An item that exists from before the scan until after it is
    yielded once.
    """
    while True:
        async with table.read_pace.turn():
            response = await table.scan(segment, SCAN_SEGMENTS, start)
        yield response.items, response.last_key
        if response.last_key is None:
            return
        start = response.last_key


async def scan_all(table: Table, seen: Progress, take: Callable[[Sequence[Item]], None]) -> None:
    """Pass every item of the table to ``take``, a page at a time."""
    count = ProgressCount(seen)

    async def scan(segment: int) -> None:
        async for items, _ in scan_pages(table, segment):
            take(items)
            count.add(items)

    await in_parallel([scan(segment) for segment in range(SCAN_SEGMENTS)])


class ProgressCount:
    """The number of items that all scan segments have read, reported after each page."""

    def __init__(self, seen: Progress) -> None:
        self._seen = seen
        self._items = 0

    def add(self, items: Sequence[Item]) -> None:
        """Add the items of a page."""
        self._items += len(items)
        self._seen(self._items)
