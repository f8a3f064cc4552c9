"""Who counts the table's comments: one item of the table says it, and every process obeys.

In mode *transactional* each write of ours carries its counter changes, and while a rebuild runs it
also counts into that rebuild's own counters. In mode *stream* writes carry none: a reader of the
table's stream counts, and other programs may write comments too.

A process asks at most 5 seconds before each transaction, and a transaction takes at most a
request's deadline. So once SETTLE_SECONDS have passed since an announcement, nothing on its way
was built on what was said before.

A count of zero proves that there is no such comment only while nobody writes without counting and
every comment is counted: in mode transactional, on a table that is ``complete``. Who takes that
away says so, and lets it settle, before anybody acts on it. What was read at most 5 seconds ago is
then true until the page that asked has its counts, which takes a request's deadline.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from time import monotonic, time
from typing import Any

from dal.conditions import ABSENT, unchanged
from dal.dynamodb import Table
from dal.errors import ConditionFailedError, ConflictError
from dal.items import Item

KEPT_SECONDS = 5.0
SETTLE_SECONDS = 20.0
"""What is kept, a request's deadline, and a margin."""

KEY: Item = {"PK": {"S": "COUNTING"}, "SK": {"S": "COUNTING"}}


class Mode(StrEnum):
    """Whether writes carry their counter changes, or the table's stream is counted."""

    TRANSACTIONAL = "transactional"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Counting:
    """What the item says; without one, writers count, and what came before may be uncounted."""

    mode: Mode = Mode.TRANSACTIONAL
    generation: int = 0
    """The number of the latest rebuild; 0 before the first."""
    rebuilding: bool = False
    complete: bool = False
    """Whether every comment is counted."""
    since: int = 0
    """When that was announced, in unix seconds."""

    @property
    def recounts(self) -> bool:
        """Whether writers also count into the counters of a rebuild."""
        return self.rebuilding and self.mode is Mode.TRANSACTIONAL

    @property
    def follows(self) -> bool:
        """Whether the table's stream is to be counted."""
        return self.mode is Mode.STREAM and not self.rebuilding

    @property
    def proves_absence(self) -> bool:
        """Whether a count of zero may be trusted."""
        return self.mode is Mode.TRANSACTIONAL and self.complete and not self.rebuilding


class CountingStore:
    """Reads and changes who counts."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._kept: tuple[float, Counting] | None = None

    async def read(self) -> Counting:
        """Return what the table says now."""
        item = await self._table.get(KEY)
        return _decode(item) if item else Counting()

    async def current(self) -> Counting:
        """Return what the table said within the last 5 seconds."""
        while self._kept is None or monotonic() - self._kept[0] >= KEPT_SECONDS:
            asked = monotonic()  # an answer that takes long may be old when it comes
            self._kept = asked, await self.read()
        return self._kept[1]

    def forget(self) -> None:
        """Ask the table next time."""
        self._kept = None

    async def announce(self, read: Counting, **changes: Any) -> Counting:
        """Say something else than what was ``read``, and return it.

        Raises ConflictError when another has said something meanwhile.
        """
        said = replace(read, **changes, since=int(time()))
        try:
            await self._table.write([{"Put": {"Item": _encode(said), **_as_read(read)}}])
        except ConditionFailedError:
            raise ConflictError(
                "Another command changes how this table is counted: let it end, then run this "
                "again."
            ) from None
        self.forget()
        return said


async def create_counted(table: Table) -> bool:
    """Create the table where there is none, True then; all that it will hold is counted."""
    created = await table.create()
    if created:
        store = CountingStore(table)
        await store.announce(await store.read(), complete=True)
    return created


def still(said: Counting) -> dict[str, Any]:
    """Return the check, among the actions of a transaction, that nothing else was said since."""
    return {"ConditionCheck": {"Key": KEY, **_as_read(said)}}


def _encode(said: Counting) -> Item:
    flags = {"rebuilding": said.rebuilding, "complete": said.complete}
    return {
        **KEY,
        "mode": {"S": said.mode.value},
        "generation": {"N": str(said.generation)},
        "since": {"N": str(said.since)},
        **{name: {"BOOL": True} for name, is_so in flags.items() if is_so},
    }


def _decode(item: Item) -> Counting:
    return Counting(
        Mode(item["mode"]["S"]),
        int(item["generation"]["N"]),
        rebuilding="rebuilding" in item,
        complete="complete" in item,
        since=int(item["since"]["N"]),
    )


def _as_read(read: Counting) -> dict[str, Any]:
    if read == Counting():
        return ABSENT
    return unchanged(_encode(read), ("mode", "generation", "rebuilding", "complete"))
