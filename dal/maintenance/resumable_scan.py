"""Resumable scans: parallel scans of the whole table that continue after an interruption.

The table holds the progress: ``<work>`` / ``SEGMENT#<n>/<of>`` has ``last`` (M), the last key that
was processed, or ``done`` (BOOL).
"""

from collections.abc import Awaitable, Callable, Sequence
from time import time

from dal.client.concurrency import in_parallel
from dal.client.scan import SCAN_SEGMENTS, Progress, ProgressCount, scan_pages
from dal.client.table import Table
from dal.table.index import EXPIRES
from dal.table.items import Item, primary_key


class ResumableScan:
    """The scan for one piece of work; its progress expires ``kept_seconds`` after the last page."""

    def __init__(self, table: Table, work: str, kept_seconds: int) -> None:
        self._table = table
        self._kept_seconds = kept_seconds
        self.keys = [
            primary_key(work, f"SEGMENT#{segment}/{SCAN_SEGMENTS}")
            for segment in range(SCAN_SEGMENTS)
        ]
        """The keys of the items that hold the progress."""

    async def run(
        self, process: Callable[[Sequence[Item]], Awaitable[None]], progress: Progress
    ) -> None:
        """Process every page of the table; after an interruption the latest pages come again."""
        count = ProgressCount(progress)

        async def scan(segment: int) -> None:
            key = self.keys[segment]
            kept = await self._table.get(key) or {}
            if "done" in kept:
                return
            start = kept["last"]["M"] if "last" in kept else None
            async for items, last in scan_pages(self._table, segment, start):
                await process(items)
                reached: Item = {"done": {"BOOL": True}} if last is None else {"last": {"M": last}}
                expires = {EXPIRES: {"N": str(int(time()) + self._kept_seconds)}}
                await self._table.put_many([key | reached | expires])
                count.add(items)

        await in_parallel([scan(segment) for segment in range(SCAN_SEGMENTS)])
