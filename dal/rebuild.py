"""A rebuild of the statistics beside running writers: exact at its end, whatever it began with.

It counts every comment into counters of its own, by the rebuild's number, the generation:

1. It says so in the table, and waits until every writer acts on it. From then on each write also
   stamps the comment with the generation, adds what it became to these counters, and takes out what
   it was if that was stamped. So at any moment the counters are those of the stamped comments.
2. It scans the table and stamps what is not stamped yet, in transactions that count it.
3. Now all comments are stamped. Each statistics item gets the counts of its counter, which is
   deleted in the same transaction, on condition that it has not moved since it was read.
4. It says that it is done.

It may be interrupted at any moment, and begun again: then it goes on where it was.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import time
from typing import TypeAlias

from dal.concurrency import batched, in_parallel
from dal.counting import Counting, CountingStore, Mode
from dal.dynamodb import Table
from dal.errors import DalError
from dal.scans import SEGMENTS, Count, Seen
from dal.stamps import Stamps, places_of
from dal.swaps import recount_keys, swap

RESUMED_SECONDS = 20 * 24 * 3600
"""How long an interrupted rebuild can go on: some time after, its counters begin to expire."""

Settle: TypeAlias = Callable[[], Awaitable[None]]
"""Waits until every writer acts on what was announced."""


async def rebuild(table: Table, settle: Settle, seen: Seen) -> None:
    """Make the statistics exact, and have the writes of comments keep them so.

    A table whose stream was counted until now is counted by its writers from now on: no other
    program may write comments then. Raises DalError; begun again, it goes on.
    """
    counting = CountingStore(table)
    said = await _announced(counting)
    await settle()
    stamps, count = Stamps(table, said.generation), Count(seen)
    await in_parallel([stamps.segment(segment, count) for segment in range(SEGMENTS)])
    await swap(table, said)
    await counting.announce(said, rebuilding=False, complete=True)
    with suppress(DalError):  # what is left expires
        await _forget(table, said.generation)


async def _announced(counting: CountingStore) -> Counting:
    """Return the announcement of this rebuild, or of an interrupted one that goes on."""
    read = await counting.read()
    if read.recounts and time() - read.since < RESUMED_SECONDS:
        return read
    return await counting.announce(
        read,
        mode=Mode.TRANSACTIONAL,
        generation=read.generation + 1,
        rebuilding=True,
        complete=False,
    )


async def _forget(table: Table, generation: int) -> None:
    keys = [*places_of(generation), *[key async for key in recount_keys(table, generation)]]
    for batch in batched(keys, 100):
        await table.write([{"Delete": {"Key": key}} for key in batch])
