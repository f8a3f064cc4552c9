"""A backfill of the keys that items of an older version lack, beside running writers.

An index shows an item only by its keys. Each item is written on condition that it is as it was
read, so what others change meanwhile is read again. Interrupted, the scan goes on where it was.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

import orjson

from dal.client.concurrency import batched, in_parallel
from dal.client.parallel_scan import SCAN_SEGMENTS, Progress, ProgressCount, scan_pages
from dal.client.retries import MAINTENANCE_DEADLINE, retry_on_conflict
from dal.client.table import Table
from dal.entities import INDEXES
from dal.entities.comment import BY_AUTHOR, COMMENT, is_comment
from dal.entities.entity import Entity
from dal.entities.order import ORDER, is_order
from dal.entities.organization import ORGANIZATION_USER, is_organization_user
from dal.entities.ticket import TICKET, is_ticket
from dal.errors import ConditionFailedError
from dal.maintenance.announce import WaitForWriters
from dal.maintenance.scan_progress import ScanProgress
from dal.statistics.maintenance_mode import MaintenanceMode, MaintenanceStore
from dal.table.definition import table_definition
from dal.table.items import Action, Item, key_of

_KEPT_SECONDS = 7 * 24 * 3600
"""How long an interrupted backfill can go on."""

_TOGETHER = 25
"""Items of a transaction."""

_ENTITIES: Sequence[tuple[Callable[[Item], bool], Entity[Any]]] = (
    (is_comment, COMMENT),
    (is_order, ORDER),
    (is_ticket, TICKET),
    (is_organization_user, ORGANIZATION_USER),
)


_UNREAD = frozenset({BY_AUTHOR.partition_key, "product", "createdAt"})
"""What a comment may lack and still be in the lists of its product."""


class _Gap(NamedTuple):
    """An item, and the attributes that it lacks."""

    entity: Entity[Any]
    item: Item
    lacking: Item

    @property
    def uncounted(self) -> bool:
        """Whether nobody may have read the comment that it is."""
        return self.entity is COMMENT and not self.lacking.keys() <= _UNREAD


class KeyBackfill:
    """One backfill; ``changed`` is how many items it has completed."""

    def __init__(
        self,
        table: Table,
        wait_for_writers: WaitForWriters,
    ) -> None:
        self._table = table
        self._wait_for_writers = wait_for_writers
        self._progress = ScanProgress(table, f"UPGRADE#{_version()}", _KEPT_SECONDS)
        self._announcing = asyncio.Lock()
        self._announced = False
        self.changed = 0

    async def run(self, seen: Progress) -> None:
        """Give every item of the table the keys that it lacks; raises DalError."""
        count = ProgressCount(seen)
        await in_parallel([self._segment(one, count) for one in range(SCAN_SEGMENTS)])
        await self._table.write([{"Delete": {"Key": key}} for key in self._progress.keys])

    async def _segment(self, segment: int, count: ProgressCount) -> None:
        done, start = await self._progress.left_at(segment)
        if done:
            return
        async for items, last in scan_pages(self._table, segment, start):
            await self._fill(items)
            await self._progress.keep(segment, last)
            count.add(items)

    async def _fill(self, items: Iterable[Item]) -> None:
        found = (_gap(item) for item in items)
        gaps = [gap for gap in found if gap is not None]
        if any(gap.uncounted for gap in gaps):
            await self._announce()
        for batch in batched(gaps, _TOGETHER):
            actions = [_action(gap) for gap in batch]
            try:
                async with self._table.pace.turn():
                    await retry_on_conflict(
                        partial(self._table.write, actions), MAINTENANCE_DEADLINE
                    )
            except ConditionFailedError:
                await self._fill(await self._table.get_many([key_of(gap.item) for gap in batch]))
            else:
                self.changed += len(batch)

    async def _announce(self) -> None:
        """Have nobody trust a count of zero: a comment that nobody could read is not counted.

        In mode stream what is written here is counted as all else.
        """
        async with self._announcing:
            if self._announced:
                return
            maintenance = MaintenanceStore(self._table)
            state = await maintenance.read()
            if state.mode is MaintenanceMode.TRANSACTIONAL and state.complete:
                await maintenance.announce(state, complete=False)
                await self._wait_for_writers()
            self._announced = True


def _version() -> int:
    """Return a number that differs between versions with different indexes."""
    return crc32(orjson.dumps(table_definition("", INDEXES)))


def _gap(item: Item) -> _Gap | None:
    """Return what an item lacks; None if it lacks nothing or cannot be decoded."""
    for holds, entity in _ENTITIES:
        if holds(item):
            found = entity.recover(item)
            whole = entity.encode(found) if found is not None else {}
            lacking = {name: value for name, value in whole.items() if name not in item}
            return _Gap(entity, item, lacking) if lacking else None
    return None


def _action(gap: _Gap) -> Action:
    update = gap.entity.unchanged(gap.item, unpacked=True)
    update["ExpressionAttributeNames"] |= {f"#{name}": name for name in gap.lacking}
    update.setdefault("ExpressionAttributeValues", {}).update(
        {f":{name}": value for name, value in gap.lacking.items()}
    )
    added = ", ".join(f"#{name} = :{name}" for name in gap.lacking)
    return {"Update": {"Key": key_of(gap.item), "UpdateExpression": f"SET {added}", **update}}
