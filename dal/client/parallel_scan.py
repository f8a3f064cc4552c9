"""Parallel scans of the whole table in scan segments: for maintenance, never for a request."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeAlias

from dal.client.concurrency import in_parallel
from dal.client.table import Table
from dal.table.items import Item

SCAN_SEGMENTS = 4

Progress: TypeAlias = Callable[[int], None]
"""Takes note of how many items a scan has seen so far."""


async def scan_pages(
    table: Table, segment: int, start: Item | None = None
) -> AsyncIterator[tuple[Sequence[Item], Item | None]]:
    """Yield what follows ``start`` in one scan segment: items and their last key, None at the end.

    Items are as the latest acknowledged write left them when their page was read. What is there
    from before the scan until after it is seen once.
    """
    while True:
        async with table.read_pace.turn():
            answer = await table.scan(segment, SCAN_SEGMENTS, start)
        yield answer.items, answer.last_key
        if answer.last_key is None:
            return
        start = answer.last_key


async def scan_all(table: Table, seen: Progress, take: Callable[[Sequence[Item]], None]) -> None:
    """Give every item of the table to ``take``, some at a time."""
    count = ProgressCount(seen)

    async def scan(segment: int) -> None:
        async for items, _ in scan_pages(table, segment):
            take(items)
            count.add(items)

    await in_parallel([scan(segment) for segment in range(SCAN_SEGMENTS)])


class ProgressCount:
    """Adds up the items that several scan segments have seen, and reports the sum."""

    def __init__(self, seen: Progress) -> None:
        self._seen = seen
        self._items = 0

    def add(self, items: Sequence[Item]) -> None:
        """Take note of one page."""
        self._items += len(items)
        self._seen(self._items)
