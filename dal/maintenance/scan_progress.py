"""How far a long parallel scan is, kept in the table, so that it can go on after an interruption.

``<work>`` / ``SEGMENT#<n>/<of>`` has ``last`` (M), the last key of what is done, or ``done``
(BOOL).
"""

from time import time

from dal.client.parallel_scan import SCAN_SEGMENTS
from dal.client.table import Table
from dal.table.index import EXPIRES
from dal.table.items import Item, primary_key


class ScanProgress:
    """The progress of one piece of work; it expires ``kept_seconds`` after its last step."""

    def __init__(self, table: Table, work: str, kept_seconds: int) -> None:
        self._table = table
        self._work = work
        self._kept_seconds = kept_seconds

    async def left_at(self, segment: int) -> tuple[bool, Item | None]:
        """Return whether a scan segment is done, and after which key to go on where it is not."""
        kept = await self._table.get(self._key(segment)) or {}
        return "done" in kept, kept["last"]["M"] if "last" in kept else None

    async def keep(self, segment: int, last: Item | None) -> None:
        """Remember that all up to ``last`` is done; None is the end."""
        left: Item = {"done": {"BOOL": True}} if last is None else {"last": {"M": last}}
        until = {"N": str(int(time()) + self._kept_seconds)}
        await self._table.put_many([{**self._key(segment), **left, EXPIRES: until}])

    @property
    def keys(self) -> list[Item]:
        """The keys of the items that keep it."""
        return [self._key(segment) for segment in range(SCAN_SEGMENTS)]

    def _key(self, segment: int) -> Item:
        return primary_key(self._work, f"SEGMENT#{segment}/{SCAN_SEGMENTS}")
