"""Boards: moves products on leaderboards some seconds after their counters change.

Two key attributes of a statistics item determine the product's place on a leaderboard. All rows of
a leaderboard are in one partition of an index. If each write's transaction changed these
attributes, all comments rated 5 together could not be written faster than this one partition
allows. So each process collects the products whose counters changed, and moves each product once
per MOVE_SECONDS, at most MOST_AT_ONCE products each time. If more products change, only the
leaderboards are late.

A move reads the product's items in one consistent Query. It updates each item that is in a wrong
place, on condition that its place has not changed. Then it reads the product again, because another
process may have moved the product by older counts. A move ends when no item is in a wrong place.

If a process is killed, the next process that reads the product's statistics moves the product.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from dal.client.concurrency import batched, in_parallel
from dal.client.table import Table
from dal.deadline import Deadline, deadline
from dal.entities.product import LEADERS
from dal.errors import ConditionFailedError, DalError, StoreRefusedError
from dal.statistics import counter_items
from dal.statistics.counter_items import StoredCounts, place_of, stored_in
from dal.statistics.counts import Deltas, StatisticsKey
from dal.table.index import TABLE, QueryRequest, query_all
from dal.table.items import Item, key_of, unchanged

MOVE_SECONDS = 2.0
"""Seconds in which a process collects changed products before it moves them."""

MOST_AT_ONCE = 100
"""Maximum products that a process moves each MOVE_SECONDS."""

ONE_MOVE_SECONDS = 5.0
"""Maximum seconds of one move, so that a process can end while DynamoDB does not respond."""

_TOGETHER = 16
"""Number of products that are moved in parallel."""

_ROUNDS = 10
"""Maximum times that an ending process tries to move all pending products."""

_KEYS = (LEADERS.partition_key, LEADERS.sort_key)

_log = logging.getLogger(__name__)


def misplaced(product_id: str, stored: Iterable[StoredCounts]) -> Iterator[tuple[Item, Item]]:
    """Yield a product's items that have wrong leaderboard keys, each with the right keys.

    ``stored`` has all statistics items of the product. For a missing item, only its primary key is
    yielded.
    """
    held, fives = dict[str | None, Item](), dict[str | None, int]()
    for key, counts, item in stored:
        held[key.language] = item
        if key.language is not None:
            fives[key.language] = counts.fives
    fives[None] = sum(max(0, count) for count in fives.values())
    for language, count in fives.items():
        key = StatisticsKey(product_id, language)
        item, place = held.get(language) or counter_items.item_key(key), place_of(key, count)
        if {name: item[name] for name in _KEYS if name in item} != place:
            yield item, place


class Boards:
    """Moves products on the leaderboards of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._pending: dict[str, None] = {}
        self._noted = asyncio.Event()
        self._moving: asyncio.Task[None] | None = None
        self.moved = 0
        """The number of corrected places."""

    @property
    def pending(self) -> frozenset[str]:
        """The products that will be moved."""
        return frozenset(self._pending)

    def changed(self, changes: Deltas) -> None:
        """Remember products to move, because a write has changed their counters, or may have."""
        for key, change in changes.items():
            if change.fives and key.generation is None:
                self._note(key.product_id)

    def seen(self, product_id: str, stored: Sequence[StoredCounts]) -> None:
        """Remember a product to move, if one of the items that a request has read is misplaced."""
        if product_id not in self._pending and any(misplaced(product_id, stored)):
            self._note(product_id)

    def _note(self, product_id: str) -> None:
        self._pending[product_id] = None
        self._noted.set()
        self._table.unfinished.add(self.finish)

    def start(self) -> None:
        """Start to move changed products in the background. ``finish`` stops it."""
        self._table.unfinished.add(self.finish)
        self._moving = asyncio.create_task(self._follow())

    async def finish(self) -> None:
        """Move the pending products, in at most ``_ROUNDS`` rounds, then stop.

        After a round with a failed move, no further round follows. If all moves of a batch fail,
        the round ends at once.
        """
        if self._moving is not None:
            self._moving.cancel()
            await asyncio.wait([self._moving])
            self._moving = None
        try:
            if not await self._move_pending():
                _log.warning(
                    "Some products were not moved on leaderboards: the next read of their "
                    "statistics, or `marginalia stats verify`, moves them."
                )
        finally:
            self._table.unfinished.discard(self.finish)

    async def _move_pending(self) -> bool:
        """Move the pending products. Return True if no move failed."""
        for _ in range(_ROUNDS):
            left, failed = len(self._pending), 0
            while left > 0:
                products = self._take(min(left, MOST_AT_ONCE))
                left -= len(products)
                failures = await self._move_all(products)
                failed += failures
                if failures == len(products):
                    return False
            if failed or not self._pending:
                return not failed
        return True

    async def correct(self, products: Iterable[str]) -> None:
        """Move products until all their places are right. Raises DalError.

        If other processes keep changing a product, this method stops after a few rounds. Those
        processes move the product.
        """
        left = list(products)
        for _ in range(_ROUNDS):
            for some in batched(left, _TOGETHER):
                wrong = await in_parallel([self.move(one) for one in some])
                left = [*left[len(some) :], *(one for one, n in zip(some, wrong, strict=True) if n)]
            if not left:
                return

    async def move(self, product_id: str) -> int:
        """Move a product to its right places. Return how many places were wrong."""
        partition = counter_items.partition_of(product_id)
        request = QueryRequest(TABLE, partition, counter_items.SORT_KEYS, consistent=True)
        stored: list[StoredCounts] = []
        async for answer in query_all(self._table.query, request):
            stored += stored_in(answer.items)
        wrong = list(misplaced(product_id, stored))
        for item, place in wrong:
            update = unchanged(item, _KEYS)
            if place:
                values = update.get("ExpressionAttributeValues", {})
                to = {f":to_{name}": value for name, value in place.items()}
                update["ExpressionAttributeValues"] = values | to
                expression = "SET " + ", ".join(f"#{name} = :to_{name}" for name in place)
            else:
                expression = "REMOVE " + ", ".join(f"#{name}" for name in _KEYS)
            update |= {"Key": key_of(item), "UpdateExpression": expression}
            with suppress(ConditionFailedError):  # another process has moved it meanwhile
                await self._table.update(update)
                self.moved += 1
        return len(wrong)

    async def _follow(self) -> None:
        while True:
            await self._noted.wait()
            await asyncio.sleep(MOVE_SECONDS)
            try:
                await self._move_all(self._take(MOST_AT_ONCE))
            except Exception:  # noqa: BLE001 - an unforeseen error must not stop later moves
                _log.exception("Products were not moved on leaderboards.")

    def _take(self, most: int) -> list[str]:
        """Remove the oldest pending products, and return them."""
        taken = list(self._pending)[:most]
        for product_id in taken:
            del self._pending[product_id]
        if not self._pending:
            self._noted.clear()
        return taken

    async def _move_all(self, products: Sequence[str]) -> int:
        """Move products, and return the number of failed moves, which are logged.

        If a failed move can succeed later, its product becomes pending again.
        """
        free, failed = asyncio.Semaphore(_TOGETHER), 0

        async def move(product_id: str) -> None:
            nonlocal failed
            try:
                async with free, self._table.pace.turn():
                    limit = Deadline()
                    limit.restart(ONE_MOVE_SECONDS)
                    with deadline(limit):
                        again = await self.move(product_id) > 0
            except DalError as error:
                again = not isinstance(error, StoreRefusedError)
                failed += 1
            if again:
                self._note(product_id)

        try:
            await in_parallel([move(one) for one in products])
        except BaseException:
            # For example a cancellation: ``finish`` then moves all these products.
            for product_id in products:
                self._note(product_id)
            raise
        return failed
