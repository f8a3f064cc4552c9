"""Scans the whole table, for maintenance only. Reads the segments of the scan in parallel."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from time import time
from typing import TypeAlias

from dal.dynamodb.concurrency import in_parallel
from dal.dynamodb.table import Table
from dal.table.index import EXPIRES
from dal.table.items import Item, primary_key

SCAN_SEGMENTS = 4

Progress: TypeAlias = Callable[[int], None]
"""Receives the number of items that a command has processed so far."""


async def scan_pages(
    table: Table, segment: int, start: Item | None = None
) -> AsyncIterator[tuple[Sequence[Item], Item | None]]:
    """Yield each page of a scan segment, with the key at which the page ends.

    For the last page, the key is None. The scan begins after the key ``start``, or at the segment's
    beginning if ``start`` is None. Reads are consistent. An item that exists during the whole scan
    is yielded once.
    """
    while True:
        async with table.read_pace.turn():
            response = await table.scan(segment, SCAN_SEGMENTS, start)
        yield response.items, response.last_key
        if response.last_key is None:
            return
        start = response.last_key


async def scan_all(table: Table, seen: Progress, take: Callable[[Sequence[Item]], None]) -> None:
    """Pass every item of the table to ``take``, one page at a time.

    ``seen`` receives the number of items so far, after each page.
    """
    count = 0

    async def scan(segment: int) -> None:
        nonlocal count
        async for items, _ in scan_pages(table, segment):
            take(items)
            count += len(items)
            seen(count)

    await in_parallel([scan(segment) for segment in range(SCAN_SEGMENTS)])


class ResumableScan:
    """A scan that continues after an interruption at the place where it stopped.

    The table stores the progress of each scan segment in one item. The item's PK is the argument
    ``work``, and its SK is ``SEGMENT#<number>/<SCAN_SEGMENTS>``. Its attribute ``last`` (M) is the
    key of the last processed item of the segment. When the whole segment has been processed, the
    item has ``done`` (BOOL) instead. The item expires ``kept_seconds`` after its last change.
    """

    def __init__(self, table: Table, work: str, kept_seconds: int) -> None:
        self._table = table
        self._kept_seconds = kept_seconds
        self.keys = [
            primary_key(work, f"SEGMENT#{segment}/{SCAN_SEGMENTS}")
            for segment in range(SCAN_SEGMENTS)
        ]
        """The primary keys of the items that store the progress."""

    async def run(
        self, process: Callable[[Sequence[Item]], Awaitable[None]], progress: Progress
    ) -> None:
        """Pass each page of the table to ``process``, except those that an earlier run processed.

        A page is processed twice if an interruption comes before the page's progress is stored.
        ``progress`` receives the number of items that this run has processed.
        """
        count = 0

        async def scan(key: Item, segment: int) -> None:
            nonlocal count
            kept = await self._table.get(key) or {}
            if "done" in kept:
                return
            start = kept["last"]["M"] if "last" in kept else None
            async for items, last in scan_pages(self._table, segment, start):
                await process(items)
                reached: Item = {"done": {"BOOL": True}} if last is None else {"last": {"M": last}}
                expires = {EXPIRES: {"N": str(int(time()) + self._kept_seconds)}}
                await self._table.put_many([key | reached | expires])
                count += len(items)
                progress(count)

        await in_parallel([scan(key, segment) for segment, key in enumerate(self.keys)])
