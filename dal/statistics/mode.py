"""The maintenance mode of the counters: how they are kept, said by one item of the table.

In mode *transactional* each write of ours changes the counters in its own transaction, and while a
rebuild runs also that rebuild's own counters. In mode *stream* our writes change none: a follower
of the table's stream does, and other programs may write comments too.

A process reads the item at most 5 seconds before each transaction, and a transaction takes at most
10 seconds and an attempt that is under way then. So once SETTLE_SECONDS have passed since an
announcement, no transaction is on its way that was built by the announcement before.

A count of zero proves that a comment does not exist only while every comment is counted and every
write changes the counters: in mode transactional, on a ``complete`` table, without a rebuild. A
process that ends this state announces the end, and waits SETTLE_SECONDS before it acts. So a mode
that was read at most 5 seconds ago holds until a page has read its counts.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import compress
from time import monotonic, time
from typing import Any, TypeAlias

from dal.account import opened
from dal.client.retries import retry, waits
from dal.client.table import Table
from dal.errors import (
    ConditionFailedError,
    ConflictError,
    StoreRefusedError,
    StoreUnavailableError,
)
from dal.table.items import ABSENT, Item, unchanged

KEPT_SECONDS = 5.0
SETTLE_SECONDS = 20.0
"""KEPT_SECONDS, the deadline of a transaction, its last attempt, and a margin."""

READERS_KEEP_SECONDS = 30.0
"""How long readers of pages keep the item."""

_RUNS = ("rebuilding", "upgrading")
"""Attributes that the item has while a rebuild or an upgrade runs."""

_SHARDS = frozenset({"shards", "target", "step", "counter_shards", "counter_target"})
"""Attributes that earlier versions set when they spread lists or counters over shards."""

WaitForWriters: TypeAlias = Callable[[], Awaitable[None]]
"""Returns once every writer acts on the latest announcement: after SETTLE_SECONDS."""

KEY: Item = {"PK": {"S": "COUNTING"}, "SK": {"S": "COUNTING"}}


_COMMANDS = {
    "a rebuild of the statistics": "stats rebuild",
    "an upgrade of the table": "table upgrade",
}
"""What changes a table beside running servers, of which only one may, and the command of each."""


class MaintenanceMode(StrEnum):
    """What changes the counters: each write's own transaction, or a follower of the stream."""

    TRANSACTIONAL = "transactional"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What the item says; without one the mode is transactional, and the table not complete."""

    mode: MaintenanceMode = MaintenanceMode.TRANSACTIONAL
    generation: int = 0
    """The number of the latest rebuild; 0 before the first."""
    rebuilding: bool = False
    complete: bool = False
    """Whether every comment is counted."""
    since: int = 0
    """When that was announced, in unix seconds."""
    counted_table: str = ""
    """The id of the table whose comments are all counted: a copy has another one."""
    upgrading: bool = False
    """Whether an upgrade gives items the keys that they lack."""

    @property
    def copied(self) -> bool:
        """Whether this is a copy of a table whose comments were all counted."""
        return self.counted_table != "" and not self.complete

    @property
    def dual_writes(self) -> bool:
        """Whether writes also change the counters of a running rebuild."""
        return self.rebuilding and self.mode is MaintenanceMode.TRANSACTIONAL

    @property
    def applies_stream(self) -> bool:
        """Whether followers apply the table's stream to the counters."""
        return self.mode is MaintenanceMode.STREAM and not self.rebuilding

    @property
    def counted(self) -> bool:
        """Whether counts say something: in mode stream nobody counts before a rebuild."""
        return self.mode is MaintenanceMode.TRANSACTIONAL or self.counted_table != ""

    @property
    def exact(self) -> bool:
        """Whether counts hold every write that was acknowledged before they were read.

        Only then a count of zero proves that a comment does not exist.
        """
        return self.mode is MaintenanceMode.TRANSACTIONAL and self.complete and not self.rebuilding


class MaintenanceStore:
    """Reads and changes the maintenance mode."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._kept: tuple[float, Maintenance] | None = None

    async def read(self) -> Maintenance:
        """Return what the item says now."""
        item = await self._table.get(KEY)
        if item is None:
            return Maintenance()
        state = _decode(item)
        # A backup is not of one moment: a restored table may hold comments without their counts.
        complete = state.counted_table != "" and state.counted_table == await self._table.id()
        return replace(state, complete=complete)

    async def current(self) -> Maintenance:
        """Return what the item said within the last 5 seconds."""
        kept = self._kept
        if kept is None or monotonic() - kept[0] >= KEPT_SECONDS:
            kept = self._kept = await retry(self._read_in_time, "get_item")
        return kept[1]

    async def counted(self) -> bool:
        """Return whether counts say something, as the item said within the last 30 seconds."""
        kept = self._kept
        if kept is not None and monotonic() - kept[0] < READERS_KEEP_SECONDS:
            return kept[1].counted
        with opened():  # later requests use it too, so no single request is charged
            return (await self.current()).counted

    async def _read_in_time(self) -> tuple[float, Maintenance]:
        """Return when the item was asked for, and what it said; it may be old when it comes."""
        while True:
            asked = monotonic()
            read = await self.read()
            if monotonic() - asked < KEPT_SECONDS:
                return asked, read
            if not waits():
                raise StoreUnavailableError("DynamoDB answers too slowly: try again in a moment.")

    @property
    def latest(self) -> Maintenance | None:
        """What the item said when it was last read, however long ago; None before."""
        return None if self._kept is None else self._kept[1]

    def forget(self) -> None:
        """Read the item anew next time."""
        self._kept = None

    async def announce(self, read: Maintenance, **changes: Any) -> Maintenance:
        """Store ``read`` with some changes, and return it.

        Raises ConflictError when the item is no longer as it was read, and StoreRefusedError for
        a rebuild and an upgrade at once.
        """
        announced = replace(read, **changes, since=int(time()))
        check_alone(read, announced)
        counted = await self._table.id() if announced.complete else ""
        announced = replace(announced, counted_table=counted)
        try:
            await self._table.write([{"Put": {"Item": _encode(announced), **_as_read(read)}}])
        except ConditionFailedError:
            raise ConflictError(
                "Another command changes the maintenance mode of this table: let it end, then run "
                "this again."
            ) from None
        self.forget()
        return announced


def check_alone(read: Maintenance, wanted: Maintenance) -> None:
    """Raise StoreRefusedError for a rebuild and an upgrade at once."""
    begun = _begun(read)
    others = _begun(wanted) - begun
    if begun and others:
        (running,), (other,) = begun, others
        raise StoreRefusedError(
            f"{other.capitalize()} and {running} cannot run at once, and {running} is not done: "
            f"let it end, or end it by `marginalia {_COMMANDS[running]}`, then run this again."
        )


def _begun(state: Maintenance) -> set[str]:
    return set(compress(_COMMANDS, (state.rebuilding, state.upgrading)))


def unchanged_since(announced: Maintenance) -> dict[str, Any]:
    """Return the check, among the actions of a transaction, that nothing else was announced."""
    return {"ConditionCheck": {"Key": KEY, **_as_read(announced)}}


def _encode(state: Maintenance) -> Item:
    true = {name: {"BOOL": True} for name in _RUNS if getattr(state, name)}
    complete = {"complete": {"S": state.counted_table}} if state.counted_table else {}
    return {
        **KEY,
        "mode": {"S": state.mode.value},
        "generation": {"N": str(state.generation)},
        "since": {"N": str(state.since)},
        **true,
        **complete,
    }


def _decode(item: Item) -> Maintenance:
    if not _SHARDS.isdisjoint(item):
        raise StoreRefusedError(
            "This table spreads its comments or counters over shards, which this version cannot "
            "read: export its rows with the version that wrote them, and load them into a new one."
        )
    return Maintenance(
        MaintenanceMode(item["mode"]["S"]),
        int(item["generation"]["N"]),
        **{name: name in item for name in _RUNS},
        since=int(item["since"]["N"]),
        counted_table=item.get("complete", {}).get("S", ""),
    )


def _as_read(read: Maintenance) -> dict[str, Any]:
    if read == Maintenance():
        return ABSENT
    return unchanged(_encode(read), ("mode", "generation", "complete", *_RUNS))
