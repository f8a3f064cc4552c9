"""The maintenance mode: which program changes the counters. An item of the table stores the mode.

In mode *transactional*, each write of this program changes the counters in the same transaction.
During a rebuild, each write also changes the rebuild's counters. In mode *stream*, a follower of
the table's stream changes the counters, and writes do not. Only in mode *stream* may other programs
write comments too.

An *announcement* is a change of the item that stores the mode. A process reads this item at most 5
seconds before each transaction. A transaction is retried for at most 10 seconds, and its last
attempt may end some seconds later. So SETTLE_SECONDS after an announcement, all transactions that
do not obey it have ended.

A count of zero proves that a list is empty, but only under three conditions: the mode is
transactional, the table is ``complete`` (every comment is counted), and no rebuild is running. A
command that ends one of these conditions writes an announcement, and waits SETTLE_SECONDS before it
acts. So a page can trust a mode that was read at most 5 seconds ago.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from time import monotonic, time
from typing import Any, TypeAlias

from dal.counts.counts import FLAGS
from dal.dynamodb.concurrency import SharedReads
from dal.dynamodb.errors import ConditionFailedError, ConflictError, StoreUnavailableError
from dal.dynamodb.retries import retry, waits
from dal.dynamodb.table import Table
from dal.table.errors import StoreRefusedError
from dal.table.items import ABSENT, Item, unchanged

KEPT_SECONDS = 5.0
"""Seconds for which ``current`` uses the cached item."""

SETTLE_SECONDS = 20.0
"""The sum of KEPT_SECONDS, a transaction's deadline, its last attempt, and a margin."""

READERS_KEEP_SECONDS = 30.0
"""Seconds for which ``counted`` uses the cached item."""

COLD_REQUESTS, COLD_RCU = 4, 3.0
"""Maximum requests of an operation of 10 seconds for this item, and their RCU. The operation reads
the item at most once in 5 seconds, and the table's id once."""

WaitForWriters: TypeAlias = Callable[[], Awaitable[None]]
"""Waits for SETTLE_SECONDS. After this wait, every writer obeys the latest announcement."""

_RUNS = ("rebuilding", "upgrading")
"""The attributes that the item has during a rebuild and during an upgrade."""

_ATTRIBUTES = frozenset({"PK", "SK", "mode", "generation", "since", "complete", "flags", *_RUNS})
"""The attributes of the item that are not of features."""

_SHARDS = frozenset({"shards", "target", "step", "counter_shards", "counter_target"})
"""The item has one of these attributes if an earlier version has spread the table's lists or
counters over several partitions (shards)."""

_FLAGS = " ".join(FLAGS)

KEY: Item = {"PK": {"S": "COUNTING"}, "SK": {"S": "COUNTING"}}


class MaintenanceMode(StrEnum):
    """What changes the counters: each write's own transaction, or a follower of the stream."""

    TRANSACTIONAL = "transactional"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Maintenance:
    """The contents of the item that stores the mode. A table without the item has the defaults."""

    mode: MaintenanceMode = MaintenanceMode.TRANSACTIONAL
    generation: int = 0
    """The number of the latest rebuild; 0 if there was none."""
    rebuilding: bool = False
    complete: bool = False
    """Whether every comment of the table is counted, in the counts of all flags too."""
    since: int = 0
    """The time of the latest announcement, in Unix seconds."""
    counted_table: str = ""
    """The id of the table, if all its comments are counted; otherwise empty. A copy of the table
    has another id, but its item still contains the id of the original table."""
    flags: str = ""
    """The flags by which all comments were counted when the counts became complete: see
    ``dal.counts.counts``. Empty in a table of an earlier version, which counted by no flag."""
    upgrading: bool = False
    """Whether an upgrade is adding missing keys to items."""
    extras: Mapping[str, str] = field(default_factory=dict)
    """The attributes of the item that features own, by name."""

    @property
    def copied(self) -> bool:
        """Whether the table is a copy of a table in which all comments were counted."""
        return self.counted_table != "" and not self.complete and not self.lacks_flags

    @property
    def lacks_flags(self) -> bool:
        """Whether an earlier version, which counted by fewer flags, has counted the comments.

        In mode *stream*, no total comes from the counts, so the flags do not matter.
        """
        return self.counts_in_writes and self.flags != _FLAGS

    @property
    def counts_in_writes(self) -> bool:
        """Whether each write changes the counters in its own transaction."""
        return self.mode is MaintenanceMode.TRANSACTIONAL

    @property
    def dual_writes(self) -> bool:
        """Whether writes must also change the counters of a running rebuild."""
        return self.rebuilding and self.counts_in_writes

    @property
    def counted(self) -> bool:
        """Whether the table has counters. In mode *stream*, only a rebuild creates them."""
        return self.counts_in_writes or self.counted_table != ""

    @property
    def exact(self) -> bool:
        """Whether counts include every write that was acknowledged before the counts were read.

        If this is True, a count of zero proves that the counted list is empty.
        """
        return self.counts_in_writes and self.complete and not self.rebuilding


@dataclass(frozen=True, slots=True)
class Run:
    """A command that cannot run at the same time as other runs."""

    name: str
    """The noun of the command in messages."""
    command: str
    """The command line that completes an interrupted run."""
    runs: Callable[[Maintenance], bool]
    """Returns whether the command is running."""
    changes: Callable[[Maintenance], object] = lambda _: None
    """Returns the part of the contents that only this command changes. Each change of it needs that
    no other command is running."""


RUNS = (
    Run("a rebuild of the statistics", "stats rebuild", lambda state: state.rebuilding),
    Run("an upgrade of the table", "table upgrade", lambda state: state.upgrading),
)


class MaintenanceStore:
    """Reads and changes the maintenance mode. ``runs`` are further commands that run alone."""

    def __init__(self, table: Table, runs: Sequence[Run] = ()) -> None:
        self.table = table
        self._runs = (*RUNS, *runs)
        self._kept: tuple[float, Maintenance] | None = None
        self._shared = SharedReads[tuple[float, Maintenance]]()
        self._forgotten = 0

    async def read(self) -> Maintenance:
        """Read the item, and return its contents."""
        item = await self.table.get(KEY)
        if item is None:
            return Maintenance()
        if not _SHARDS.isdisjoint(item):
            raise StoreRefusedError(
                "This table spreads its comments or counters over shards, which this version "
                "cannot read: export its rows with the version that wrote them, and load them into "
                "a new table."
            )
        counted_table, flags = (item.get(name, {}).get("S", "") for name in ("complete", "flags"))
        read = Maintenance(
            MaintenanceMode(item["mode"]["S"]),
            int(item["generation"]["N"]),
            **{name: name in item for name in _RUNS},
            flags=flags,
            since=int(item["since"]["N"]),
            counted_table=counted_table,
            extras={
                name: value["S"]
                for name, value in item.items()
                if name not in _ATTRIBUTES and "S" in value
            },
        )
        # A restored table has another id, so it is not complete. It may contain comments that are
        # not counted, because a backup does not read all items at the same moment.
        same = counted_table != "" and counted_table == await self.table.id()
        return replace(read, complete=same and not read.lacks_flags)

    async def current(self) -> Maintenance:
        """Return the item's contents, read at most 5 seconds ago.

        Simultaneous calls share one read. A call after ``forget`` does not share a read from
        before.
        """
        kept = self._kept
        if kept is None or monotonic() - kept[0] >= KEPT_SECONDS:
            forgotten = self._forgotten
            read = partial(retry, self._read_in_time, "get_item")
            kept = await self._shared.read(forgotten, read)
            if forgotten == self._forgotten:
                self._kept = kept
        return kept[1]

    async def counted(self) -> bool:
        """Return whether the table had counters when the item was read, at most 30 seconds ago."""
        kept = self._kept
        if kept is not None and monotonic() - kept[0] < READERS_KEEP_SECONDS:
            return kept[1].counted
        return (await self.current()).counted

    async def _read_in_time(self) -> tuple[float, Maintenance]:
        """Read the item.

        Return the contents with the time before the read. If the read takes KEPT_SECONDS or longer,
        the contents are too old to use. In this case, a caller that waits for DynamoDB without a
        time limit gets the contents of a further read. For other callers, this method raises
        StoreUnavailableError.
        """
        while True:
            requested = monotonic()
            read = await self.read()
            if monotonic() - requested < KEPT_SECONDS:
                return requested, read
            if not waits():
                raise StoreUnavailableError("DynamoDB answers too slowly: try again in a moment.")

    @property
    def latest(self) -> Maintenance | None:
        """The contents that ``current`` read last, however old they are.

        None before the first read, and after ``forget``.
        """
        return None if self._kept is None else self._kept[1]

    def forget(self) -> None:
        """Remove the cached contents, so that the next call of ``current`` reads the item again."""
        self._kept = None
        self._forgotten += 1

    async def announce(self, read: Maintenance, **changes: Any) -> Maintenance:
        """Store ``read``, changed by ``changes``, in the item, and return the new contents.

        Raises ConflictError if the item has changed since it was read, and StoreRefusedError as
        ``check_alone`` does.
        """
        announced = replace(read, **changes, since=max(read.since + 1, int(time())))
        self.check_alone(read, announced)
        counted = await self.table.id() if announced.complete else ""
        flags = _FLAGS if announced.complete else ""
        announced = replace(announced, counted_table=counted, flags=flags)
        try:
            await self.table.write([{"Put": {"Item": _encode(announced), **_as_read(read)}}])
        except ConditionFailedError:
            raise ConflictError(
                "Another command changes the maintenance mode of this table: wait for its end, "
                "then run this command again."
            ) from None
        self.forget()
        return announced

    def check_alone(self, read: Maintenance, wanted: Maintenance) -> None:
        """Raise StoreRefusedError if ``wanted`` begins a run while another run has not ended.

        Without this check, a command could fail at its end, because another command has changed the
        item meanwhile.
        """
        running = [run for run in self._runs if run.runs(read)]
        for begun in self._runs:
            begins = begun.runs(wanted) and begun not in running
            others = [run for run in running if run is not begun]
            if others and (begins or begun.changes(wanted) != begun.changes(read)):
                raise StoreRefusedError(
                    f"{begun.name.capitalize()} and {others[0].name} cannot run at the same time, "
                    f"and {others[0].name} has not ended: wait for its end, or complete it with "
                    f"`marginalia {others[0].command}`. Then run this command again."
                )


def unchanged_since(announced: Maintenance) -> dict[str, Any]:
    """Return an action that makes its transaction fail if the mode is no longer ``announced``."""
    return {"ConditionCheck": {"Key": KEY, **_as_read(announced)}}


def _encode(state: Maintenance) -> Item:
    true = {name: {"BOOL": True} for name in _RUNS if getattr(state, name)}
    texts = {"complete": state.counted_table, "flags": state.flags}
    complete = {name: {"S": text} for name, text in texts.items() if text}
    return {
        **KEY,
        "mode": {"S": state.mode.value},
        "generation": {"N": str(state.generation)},
        "since": {"N": str(state.since)},
        **true,
        **complete,
        **{name: {"S": value} for name, value in state.extras.items()},
    }


def _as_read(read: Maintenance) -> dict[str, Any]:
    if read == Maintenance():
        return ABSENT
    # ``since`` rises with each announcement. So after a delay, the first attempt at an announcement
    # fails, even if later announcements have restored the contents that it was based on.
    names = ("mode", "generation", "complete", "flags", "since", *_RUNS, *read.extras)
    return unchanged(_encode(read), names)
