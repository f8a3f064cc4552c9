"""Many comments at once, over what their ids hold, with exact counters after every transaction.

Rows are sorted by product and language, so that a transaction of many rows touches few counters.
Each row holds on condition that its id still has what was read there: whatever interrupts the
writing, the rows that are in the table are counted, and the others are not.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from dal.bundles import Bundle
from dal.concurrency import batched, in_parallel
from dal.contention import contend
from dal.counted import CountedWrites
from dal.dynamodb import Table
from dal.edits import Edit
from dal.errors import ConditionFailedError, ConflictError
from dal.items import COUNTED, Item, comment_key, encode_comment
from dal.model import Comment

PATIENCE = 60.0
"""Seconds that a batch goes on while others keep changing its very rows."""

_BATCH = 400
_AT_ONCE = 4


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
            runs = list(transactions(await self._edits(left)))
            left = [comment for run in runs if not await self._done(run) for comment in _news(run)]
            if left:
                raise ConflictError("Others keep changing the same comments: load them again.")

        await contend(attempt, PATIENCE)

    async def _edits(self, comments: Sequence[Comment]) -> list[Edit]:
        """Return the edits that the comments need."""
        items = await self._table.get_many([comment_key(one.comment_id) for one in comments])
        held = {item["PK"]["S"]: item for item in items}
        pairs = [(held.get(comment_key(one.comment_id)["PK"]["S"]), one) for one in comments]
        return [Edit(old, new) for old, new in pairs if old is None or _differs(old, new)]

    async def _done(self, run: Sequence[Edit]) -> bool:
        """Do one transaction; False when one of its comments was changed since it was read."""
        try:
            await self._writes.write_many(run)
        except ConditionFailedError:
            return False
        return True


def transactions(edits: Iterable[Edit]) -> Iterator[list[Edit]]:
    """Yield runs of ``edits`` that go together."""
    run: list[Edit] = []
    bundle = Bundle()
    for one in edits:
        if not bundle.add(one):
            yield run
            run, bundle = [], Bundle()
            bundle.add(one)
        run.append(one)
    if run:
        yield run


def _news(run: Sequence[Edit]) -> list[Comment]:
    return [edit.new for edit in run if edit.new is not None]


def _differs(old: Item, new: Comment) -> bool:
    """Say whether an item must be written; who counted it is no matter."""
    return {name: value for name, value in old.items() if name != COUNTED} != encode_comment(new)
