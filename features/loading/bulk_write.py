"""Writes many comments over the stored comments, and reports what changed.

A bulk write stores comments and their counters in the same transactions. So the counters stay
exact even if the process is killed. The comments are sorted by product and language, so that each
transaction changes few counters. Transactions on the same product run one after another. Otherwise
up to AT_ONCE transactions run in parallel. A transaction fails if another request has changed one
of its comments meanwhile. In the maintenance mode ``stream`` (see ``dal.counts.mode``), each
comment is a separate write, and a follower of the table's stream changes the counters.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby

from dal.counts.mode import Maintenance, MaintenanceStore
from dal.dynamodb.concurrency import in_parallel
from dal.dynamodb.errors import ConflictError
from dal.dynamodb.retries import MAINTENANCE_DEADLINE, retry_on_conflict
from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.entities.comment import COMMENT, comment_key
from dal.entities.submission import encode, stored
from dal.table.items import Item
from dal.writes.changes import MOST_ACTIONS, CommentChange, TransactionBatch, WriteRule
from dal.writes.comments import CommentWriter
from dal.writes.overwrite import NOTHING, Outcome, summed
from features.loading.loaded import CommentRow, LoadedComment, loaded

AT_ONCE = 2
"""Maximum transactions that one call of ``BulkWriter.put`` runs in parallel."""


class BulkWriter:
    """Writes many comments. Several calls of ``put`` may run in parallel."""

    def __init__(self, table: Table, maintenance: MaintenanceStore, writer: CommentWriter) -> None:
        self._table = table
        self._maintenance = maintenance
        self._writes, self._rules = writer.transactions, writer.rules
        self._reads = True
        """Whether to read the stored comments before a write. If a read finds none of a batch's
        comments, the next batches are written without a read, until a write fails. Every batch is
        read if a rule compares stored comments."""

    async def put(self, rows: Iterable[CommentRow]) -> Outcome:
        """Write comments over the stored comments with the same ids.

        If two rows have the same id, the result is the same as if they were loaded one after the
        other. An unchanged comment costs only a read. But after a batch of new comments, ``put``
        does not read before it writes. So the next comment that is already stored also costs a
        failed transaction. After a DalError, some of the comments may have been written.
        """
        latest: dict[str, LoadedComment] = {}
        for row in map(loaded, rows):
            earlier = latest.get(row.comment.comment_id)
            latest[row.comment.comment_id] = row.after(earlier) if earlier else row
        gate = asyncio.Semaphore(AT_ONCE)

        async def put(chain: Sequence[Sequence[LoadedComment]]) -> Outcome:
            outcome = NOTHING
            async with gate:
                for batch in chain:
                    # The wait for a turn may take minutes, so the comments are read after the wait.
                    async with self._table.pace.turn():
                        outcome = outcome.plus(await self._put(batch))
            return outcome

        longest_first = sorted(chains(latest.values()), key=len, reverse=True)
        return summed(await in_parallel([put(chain) for chain in longest_first]))

    async def _put(self, batch: Sequence[LoadedComment]) -> Outcome:
        left, outcome, failed = batch, NOTHING, False

        async def attempt() -> None:
            nonlocal left, outcome, failed
            state = await self._maintenance.current()
            compares = any(rule.compares(state) for rule in self._rules.compares)
            changes = await self._changes(left, read=self._reads or failed or compares)
            unchanged = len(left) - len(changes)
            refused: dict[str, None] = {}
            for rule in self._rules.refused:
                refused |= dict.fromkeys(await rule.refused([one for _, one in changes], state))
            changes = [one for one in changes if one[0].comment.comment_id not in refused]
            outcome = outcome.plus(Outcome(unchanged=unchanged, refused=tuple(refused)))
            waiting = {change.key: row for row, change in changes}
            new_ones = (change for _, change in changes)
            for together in transactions(new_ones, self._rules.actions, state):
                done = await self._writes.write_many(together)
                new = sum(stored(change.old) is None for change in done)
                outcome = outcome.plus(Outcome(new=new, changed=len(done) - new))
                if len(done) < len(together):
                    self._reads = failed = True
                for change in done:
                    del waiting[change.key]
            left = list(waiting.values())
            if left:
                raise ConflictError(
                    "Other writes keep changing the same comments: run the load again."
                )

        await retry_on_conflict(attempt, MAINTENANCE_DEADLINE)
        return outcome

    async def _changes(
        self, rows: Sequence[LoadedComment], *, read: bool
    ) -> list[tuple[LoadedComment, CommentChange]]:
        """Return the rows that differ from the stored comments, each with its change.

        Without ``read``, nothing is compared, and all rows count as new comments.
        """
        now = datetime.now(UTC)
        if not read:
            return [(row, CommentChange(None, encode(row.over(None, now)))) for row in rows]
        keys = [comment_key(row.comment.comment_id) for row in rows]
        held = {item["PK"]["S"]: item for item in await self._table.get_many(keys)}
        self._reads = bool(held)
        changes: list[tuple[LoadedComment, CommentChange]] = []
        for key, row in zip(keys, rows, strict=True):
            old = held.get(key["PK"]["S"])
            new = encode(row.over(stored(old), now))
            if old is None or _differs(old, new):
                change = CommentChange(old, new | idempotency.kept_mark(old))
                changes.append((row, change))
        for rule in self._rules.prepare:
            await rule.prepare([change for _, change in changes])
        return changes


def _differs(old: Item, new: Item) -> bool:
    """Return whether a comment's new item differs from the stored item.

    The attributes in ``COMMENT.marks`` are not compared, because ``encode`` does not write them.
    """
    return new != {name: value for name, value in old.items() if name not in COMMENT.marks}


def chains(rows: Iterable[LoadedComment]) -> list[list[list[LoadedComment]]]:
    """Divide comments into batches, and return lists (chains) of these batches.

    A batch has about as many comments as fit in one transaction. The batches of a chain are written
    one after another. All comments on a product are in the same chain, because they change the same
    counters. Products with few comments share a batch.
    """
    found: list[list[list[LoadedComment]]] = []
    room = 0
    ordered = sorted(rows, key=lambda one: (one.comment.product_id, one.comment.language))
    for _, of_product in groupby(ordered, key=lambda one: one.comment.product_id):
        batches: list[list[LoadedComment]] = [[]]
        for row in of_product:
            if _actions([*batches[-1], row]) > MOST_ACTIONS:
                batches.append([])
            batches[-1].append(row)
        actions = _actions(batches[-1])
        if len(batches) == 1 and actions <= room:
            found[-1][-1] += batches[0]
            room -= actions
        else:
            found.append(batches)
            room = MOST_ACTIONS - actions
    return found


def _actions(of_product: Sequence[LoadedComment]) -> int:
    """Return the number of actions that write comments on a product, without actions of rules.

    Each language needs two actions: one for its counter, and one for the counter of a rebuild.
    """
    return len(of_product) + 2 * len({one.comment.language for one in of_product})


def transactions(
    changes: Iterable[CommentChange], rules: Sequence[WriteRule], state: Maintenance
) -> Iterator[list[CommentChange]]:
    """Yield groups of changes, in order. Each group fits in one transaction.

    ``rules`` add actions to the changes, in the maintenance state ``state``.
    """
    taken: list[CommentChange] = []
    batch = TransactionBatch(rules, state)
    for change in changes:
        if not batch.add(change):
            yield taken
            taken, batch = [], TransactionBatch(rules, state)
            batch.add(change)
        taken.append(change)
    if taken:
        yield taken
