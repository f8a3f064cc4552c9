"""The maintenance mode: which program changes the counters. An item of the table stores it.

In mode *transactional* each write of this program changes the counters in its transaction, and
during a rebuild the rebuild's counters too. In mode *stream* a follower of the table's stream
changes the counters, and writes do not. Then other programs may write comments too.

A process reads the item at most 5 seconds before each transaction. A transaction takes at most 10
seconds plus one more attempt. So SETTLE_SECONDS after an announcement (a change of the item), every
unfinished transaction obeys it.

A count of zero proves that no comment exists only under three conditions: the mode is
transactional, the table is ``complete`` (every comment is counted), and no rebuild runs. A command
that ends this state announces the change, and waits SETTLE_SECONDS before it acts. So a page can
trust a mode that was read at most 5 seconds ago.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
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
"""The sum of KEPT_SECONDS, a transaction's deadline, its last attempt, and a margin."""

READERS_KEEP_SECONDS = 30.0
"""How long page reads cache the item."""

WaitForWriters: TypeAlias = Callable[[], Awaitable[None]]
"""Waits SETTLE_SECONDS, until every writer obeys the latest announcement."""

_RUNS = ("rebuilding", "upgrading")
"""Attributes that the item has during a rebuild or an upgrade."""

_ONE_PER_PERSON = "onePerPerson"

_SHARDS = frozenset({"shards", "target", "step", "counter_shards", "counter_target"})
"""Attributes that earlier versions set when they spread lists or counters over shards."""

KEY: Item = {"PK": {"S": "COUNTING"}, "SK": {"S": "COUNTING"}}


class MaintenanceMode(StrEnum):
    """Whether each write's transaction changes the counters, or a follower of the stream."""

    TRANSACTIONAL = "transactional"
    STREAM = "stream"


class OnePerPerson(StrEnum):
    """Whether a person may have one comment on each product.

    In ``MARKING`` and ``ON`` each add names its comment for its author and product, and is refused
    if another comment is named. In ``MARKING`` a scan names the older comments.
    """

    OFF = "off"
    MARKING = "marking"
    ON = "on"


@dataclass(frozen=True, slots=True)
class Maintenance:
    """The contents of the item. Without an item, the mode is transactional and not complete."""

    mode: MaintenanceMode = MaintenanceMode.TRANSACTIONAL
    generation: int = 0
    """The number of the latest rebuild; 0 before the first."""
    rebuilding: bool = False
    complete: bool = False
    """Whether every comment is counted."""
    since: int = 0
    """When this was announced, in unix seconds."""
    counted_table: str = ""
    """The id of the table in which all comments are counted. A copy of the table has another id."""
    upgrading: bool = False
    """Whether an upgrade is adding missing keys to items."""
    one_per_person: OnePerPerson = OnePerPerson.OFF

    @property
    def names_comments(self) -> bool:
        """Whether writes keep the items that name the comment of a person on a product."""
        return self.one_per_person is not OnePerPerson.OFF

    @property
    def copied(self) -> bool:
        """Whether this is a copy of a table in which all comments were counted."""
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
        """Whether there are counters. In mode stream, a rebuild creates them."""
        return self.mode is MaintenanceMode.TRANSACTIONAL or self.counted_table != ""

    @property
    def exact(self) -> bool:
        """Whether counts include every write that was acknowledged before they were read.

        If they do, a count of zero proves that no comment exists.
        """
        return self.mode is MaintenanceMode.TRANSACTIONAL and self.complete and not self.rebuilding


class MaintenanceStore:
    """Reads and changes the maintenance mode."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._kept: tuple[float, Maintenance] | None = None

    async def read(self) -> Maintenance:
        """Return the item's contents now."""
        item = await self._table.get(KEY)
        if item is None:
            return Maintenance()
        if not _SHARDS.isdisjoint(item):
            raise StoreRefusedError(
                "This table spreads its comments or counters over shards, which this version "
                "cannot read: export its rows with the version that wrote them, and load them into "
                "a new one."
            )
        counted_table = item.get("complete", {}).get("S", "")
        return Maintenance(
            MaintenanceMode(item["mode"]["S"]),
            int(item["generation"]["N"]),
            **{name: name in item for name in _RUNS},
            # The items of a backup are from several moments, so a restored table may have comments
            # that are not counted.
            complete=counted_table != "" and counted_table == await self._table.id(),
            since=int(item["since"]["N"]),
            counted_table=counted_table,
            one_per_person=OnePerPerson(item.get(_ONE_PER_PERSON, {}).get("S", OnePerPerson.OFF)),
        )

    async def current(self) -> Maintenance:
        """Return the item's contents of at most 5 seconds ago."""
        kept = self._kept
        if kept is None or monotonic() - kept[0] >= KEPT_SECONDS:
            kept = self._kept = await retry(self._read_in_time, "get_item")
        return kept[1]

    async def counted(self) -> bool:
        """Return whether there are counters, by the item's contents of at most 30 seconds ago."""
        kept = self._kept
        if kept is not None and monotonic() - kept[0] < READERS_KEEP_SECONDS:
            return kept[1].counted
        with opened():  # later requests use the answer too, so it is in no request's account
            return (await self.current()).counted

    async def _read_in_time(self) -> tuple[float, Maintenance]:
        """Return the item, and the time before the request: a slow answer may be out of date."""
        while True:
            requested = monotonic()
            read = await self.read()
            if monotonic() - requested < KEPT_SECONDS:
                return requested, read
            if not waits():
                raise StoreUnavailableError("DynamoDB answers too slowly: try again in a moment.")

    @property
    def latest(self) -> Maintenance | None:
        """The contents that ``current`` read last, of any age; None before the first read."""
        return None if self._kept is None else self._kept[1]

    def forget(self) -> None:
        """Read the item again next time."""
        self._kept = None

    async def announce(self, read: Maintenance, **changes: Any) -> Maintenance:
        """Store the contents ``read`` with some changes, and return them.

        Raises ConflictError if the item has changed since it was read, and StoreRefusedError if a
        rebuild and an upgrade would run at once.
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
    """Raise StoreRefusedError if two of these would run at once.

    A rebuild, an upgrade, and a change of ``one_per_person``: a rebuild ends by an announcement
    that must find its own.
    """
    begun = _runs(wanted) - _runs(read)
    if wanted.one_per_person is not read.one_per_person:
        begun.add(_Run.MARKING)
    others = _runs(read) - begun
    if not begun or not others:
        return
    (other, _), (running, command) = begun.pop().value, others.pop().value
    raise StoreRefusedError(
        f"{other.capitalize()} and {running} cannot run at once, and {running} is not done: let it "
        f"end, or end it by `marginalia {command}`, then run this again."
    )


class _Run(Enum):
    """What cannot run at once, each with its words and the command that ends it."""

    REBUILD = "a rebuild of the statistics", "stats rebuild"
    UPGRADE = "an upgrade of the table", "table upgrade"
    MARKING = "a change of comments per person", "table one-per-person on"


def _runs(state: Maintenance) -> set[_Run]:
    running = {
        _Run.REBUILD: state.rebuilding,
        _Run.UPGRADE: state.upgrading,
        _Run.MARKING: state.one_per_person is OnePerPerson.MARKING,
    }
    return {run for run, runs in running.items() if runs}


def unchanged_since(announced: Maintenance) -> dict[str, Any]:
    """Return an action that makes a transaction fail if there is a later announcement."""
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
        **({_ONE_PER_PERSON: {"S": state.one_per_person.value}} if state.names_comments else {}),
    }


def _as_read(read: Maintenance) -> dict[str, Any]:
    if read == Maintenance():
        return ABSENT
    return unchanged(_encode(read), ("mode", "generation", "complete", *_RUNS, _ONE_PER_PERSON))
