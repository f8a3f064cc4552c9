"""Stamps: a scan that has every comment of the table counted by one rebuild, once.

A segment's place is kept in the table, ``RECOUNT#<generation>`` / ``SEGMENT#<n>/<of>`` with
``last`` (M), the last key of what is stamped, or ``done`` (BOOL), so that it can go on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import time

from dal import counters
from dal.bundles import MOST_ACTIONS
from dal.conditions import unchanged
from dal.contention import Turns, contend
from dal.counters import Action
from dal.dynamodb import Table
from dal.edits import generation_of
from dal.errors import ConditionFailedError
from dal.indexes import EXPIRES
from dal.items import COUNTED, Item, comment_in
from dal.model import Comment
from dal.scans import SEGMENTS, Count, pages
from dal.statistics import Deltas, RatingCounts, StatisticsKey, deltas, recounted, summed

PATIENCE = 60.0
"""Seconds that a transaction goes on while others keep writing to the same counters."""


@dataclass(slots=True)
class _Run:
    """What one transaction does: stamp comments, and make sure that counters are there."""

    comments: dict[Comment, Item] = field(default_factory=dict)
    touched: set[StatisticsKey] = field(default_factory=set)

    def changes(self, generation: int) -> Deltas:
        zeros = {key: RatingCounts() for key in self.touched}
        counted = summed(deltas(None, comment) for comment in self.comments)
        return recounted({**zeros, **counted}, generation)


class Stamps:
    """The stamps of one rebuild."""

    def __init__(self, table: Table, generation: int) -> None:
        self._table = table
        self._generation = generation
        self._turns = Turns()

    async def segment(self, segment: int, count: Count) -> None:
        """Stamp what is not stamped in a segment, from where that was left."""
        place = await self._table.get(_place(self._generation, segment)) or {}
        if "done" in place:
            return
        start = place["last"]["M"] if "last" in place else None
        async for items, last in pages(self._table, segment, start):
            for run in _runs(self._due(items), _keys_of(items)):
                await self._stamp(run)
            await self._keep(segment, last)
            count.add(items)

    def _due(self, items: Iterable[Item]) -> dict[Comment, Item]:
        """Return the comments among ``items`` that have no stamp yet."""
        due = [item for item in items if generation_of(item) < self._generation]
        return {comment: item for item in due if (comment := comment_in(item)) is not None}

    async def _stamp(self, run: _Run) -> None:
        """Do a run; what others changed meanwhile is read again, and done if it has no stamp."""
        changes = run.changes(self._generation)
        actions = [self._action(item) for item in run.comments.values()]
        transaction = [*actions, *counters.actions(changes, {})]
        try:
            async with self._turns.take({key.product_id for key in changes}, patience=None):
                await contend(partial(self._table.write, transaction), PATIENCE)
        except ConditionFailedError:
            keys = [{"PK": one["PK"], "SK": one["SK"]} for one in run.comments.values()]
            left = self._due(await self._table.get_many(keys))
            for again in _runs(left, list(run.touched)):
                await self._stamp(again)

    def _action(self, item: Item) -> Action:
        update: Item = unchanged(item, ("GSIPK", "rating", "language"))
        update["ConditionExpression"] += (
            " AND (attribute_not_exists(#counted) OR #counted < :generation)"
        )
        update["ExpressionAttributeNames"]["#counted"] = COUNTED
        update["ExpressionAttributeValues"][":generation"] = {"N": str(self._generation)}
        key = {"PK": item["PK"], "SK": item["SK"]}
        return {"Update": {"Key": key, "UpdateExpression": "SET #counted = :generation", **update}}

    async def _keep(self, segment: int, last: Item | None) -> None:
        left: Item = {"done": {"BOOL": True}} if last is None else {"last": {"M": last}}
        until = {"N": str(int(time()) + counters.RECOUNT_KEPT_SECONDS)}
        place = _place(self._generation, segment)
        await self._table.put_many([{**place, **left, EXPIRES: until}])


def places_of(generation: int) -> list[Item]:
    """Return the keys of all segments' places."""
    return [_place(generation, segment) for segment in range(SEGMENTS)]


def _place(generation: int, segment: int) -> Item:
    return {"PK": {"S": f"RECOUNT#{generation}"}, "SK": {"S": f"SEGMENT#{segment}/{SEGMENTS}"}}


def _keys_of(items: Iterable[Item]) -> list[StatisticsKey]:
    """Return whose the statistics items are: without comments they must come to zero."""
    return [counters.decode(item)[0] for item in items if counters.is_statistics(item)]


def _runs(comments: dict[Comment, Item], touched: Sequence[StatisticsKey]) -> Iterator[_Run]:
    """Yield what goes together in transactions that touch few counters each."""
    run, keys = _Run(), set[StatisticsKey]()
    for comment in sorted(comments, key=lambda one: (one.product_id, one.language)):
        more = keys | deltas(None, comment).keys()
        if len(run.comments) + 1 + len(more) > MOST_ACTIONS:
            yield run
            run, more = _Run(), set(deltas(None, comment))
        run.comments[comment] = comments[comment]
        keys = more
    for key in touched:
        if len(run.comments) + len(keys | {key}) > MOST_ACTIONS:
            yield run
            run, keys = _Run(), set()
        run.touched.add(key)
        keys.add(key)
    if run.comments or run.touched:
        yield run
