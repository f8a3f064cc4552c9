"""Many comments at once, over what their ids hold, with exact counters after every transaction.

Rows are sorted by product and language, so that a transaction of many rows touches few counters.
Each row holds on condition that its id still has what was read there: whatever interrupts the
writing, the rows that are in the table are counted, and the others are not.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from dal.bundles import Bundle, Write, joined
from dal.concurrency import batched, in_parallel
from dal.conditions import ABSENT, unchanged
from dal.contention import contend
from dal.counted import CountedWrites
from dal.dynamodb import Table
from dal.errors import ConditionFailedError, ConflictError
from dal.items import Item, comment_key, decode_comment, encode_comment
from dal.model import Comment
from dal.statistics import deltas

PATIENCE = 60.0
"""Seconds that a batch goes on while others keep changing its very rows."""

_BATCH = 400
_AT_ONCE = 4


Upsert: TypeAlias = tuple[Comment, Write]
"""A comment on its way over what its id holds."""


class Upserts:
    """Writes many comments; several calls may run at once."""

    def __init__(self, table: Table, writes: CountedWrites) -> None:
        self._table = table
        self._writes = writes

    async def put(self, comments: Iterable[Comment]) -> None:
        """Write comments over what their ids hold; of two with one id the last counts.

        A comment that is there already costs its reading only. Raises DalError; some of the rows
        may be written then.
        """
        latest = {comment.comment_id: comment for comment in comments}
        rows = sorted(latest.values(), key=lambda one: (one.product_id, one.language))
        gate = asyncio.Semaphore(_AT_ONCE)

        async def put(batch: Sequence[Comment]) -> None:
            async with gate:
                await self._put(batch)

        await in_parallel([put(batch) for batch in batched(rows, _BATCH)])

    async def _put(self, batch: Sequence[Comment]) -> None:
        left = batch

        async def attempt() -> None:
            nonlocal left
            parts = list(transactions(await self._upserts(left)))
            left = [one for part, write in parts if not await self._done(write) for one in part]
            if left:
                raise ConflictError("Others keep changing the same comments: load them again.")

        await contend(attempt, PATIENCE)

    async def _upserts(self, comments: Sequence[Comment]) -> list[Upsert]:
        """Return the writes that the comments need."""
        items = await self._table.get_many([comment_key(one.comment_id) for one in comments])
        held = {item["PK"]["S"]: item for item in items}
        encoded = [(comment, encode_comment(comment)) for comment in comments]
        pairs = [(comment, held.get(new["PK"]["S"]), new) for comment, new in encoded]
        return [(comment, _write(comment, old, new)) for comment, old, new in pairs if old != new]

    async def _done(self, write: Write) -> bool:
        """Do one transaction; False when one of its comments was changed since it was read."""
        try:
            await self._writes.write_many(write)
        except ConditionFailedError:
            return False
        return True


def transactions(upserts: Iterable[Upsert]) -> Iterator[tuple[list[Comment], Write]]:
    """Yield runs of ``upserts`` that go together: their comments, and one write of them all."""
    run: list[Upsert] = []
    bundle = Bundle()
    for one in upserts:
        if not bundle.add(one[1]):
            yield _joined(run)
            run, bundle = [], Bundle()
            bundle.add(one[1])
        run.append(one)
    if run:
        yield _joined(run)


def _joined(run: Sequence[Upsert]) -> tuple[list[Comment], Write]:
    return [comment for comment, _ in run], joined([write for _, write in run])


def _write(comment: Comment, old: Item | None, new: Item) -> Write:
    if old is None:
        return Write([{"Put": {"Item": new, **ABSENT}}], deltas(None, comment))
    changes = deltas(decode_comment(old), comment)
    return Write([{"Put": {"Item": new, **unchanged(old)}}], changes)
