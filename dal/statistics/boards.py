"""Boards: leaderboards follow the counters, some seconds later.

A place on a board is two keys of a statistics item. To move it in the write's transaction would
cost every comment rated 5 rows of an index, and all of them in one partition of it: the whole shop
could take no more than that partition does. So who changes counters remembers the product. What
changes of it within MOVE_SECONDS is one move, and no process moves more than MOST_AT_ONCE products
in that time: under more changes than that the boards fall behind, and nothing else does.

A move reads the product's items in one consistent Query, and puts those right that are in another
place, each on condition that it is still where it was. Then the product is looked at again: another
process that read older counts may have come between. So the last of all moves finds nothing to do.

What a killed process has left is put right by whoever reads the product's statistics.
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
"""How long changes of a product are gathered."""

MOST_AT_ONCE = 100
"""Products that a process moves in that time."""

ONE_MOVE_SECONDS = 5.0
"""How long one product may take: a store that is away is waited for no longer at the end."""

_TOGETHER = 16
"""Products that are moved at the same time."""

_LOOKS = 10
"""How often a process looks at all that is left before it ends."""

_KEYS = (LEADERS.partition_key, LEADERS.sort_key)

_log = logging.getLogger(__name__)


def misplaced(product_id: str, stored: Iterable[StoredCounts]) -> Iterator[tuple[Item, Item]]:
    """Yield the items of a product that are in a wrong place, and the keys that they should have.

    ``stored`` are all of its statistics items. One that is absent is yielded as its key.
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
        if _place(item) != place:
            yield item, place


def _place(item: Item) -> Item:
    return {name: item[name] for name in _KEYS if name in item}


class Boards:
    """Moves products on the leaderboards of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._pending: dict[str, None] = {}
        self._noted = asyncio.Event()
        self._moving: asyncio.Task[None] | None = None
        self.moved = 0
        """Places that were put right."""

    @property
    def pending(self) -> frozenset[str]:
        """The products that are to be looked at."""
        return frozenset(self._pending)

    def changed(self, changes: Deltas) -> None:
        """Take note that counters changed, or may have."""
        for key, change in changes.items():
            if change.fives and key.generation is None:
                self._note(key.product_id)

    def seen(self, product_id: str, stored: Sequence[StoredCounts]) -> None:
        """Look at what somebody has read of a product: it may be in a wrong place."""
        if product_id not in self._pending and any(misplaced(product_id, stored)):
            self._note(product_id)

    def _note(self, product_id: str) -> None:
        self._pending[product_id] = None
        self._noted.set()
        self._table.unfinished.add(self.finish)

    def start(self) -> None:
        """Move what changes from now on, until ``finish``."""
        self._table.unfinished.add(self.finish)
        self._moving = asyncio.create_task(self._follow())

    async def finish(self) -> None:
        """Move what is left, in a few looks; then wait for nothing more.

        After a failure no look follows the one under way, which ends where a whole batch fails.
        """
        if self._moving is not None:
            self._moving.cancel()
            await asyncio.wait([self._moving])
            self._moving = None
        try:
            if not await self._move_what_is_left():
                _log.warning(
                    "Some products are moved on leaderboards when they are next read, or by "
                    "`marginalia stats verify`."
                )
        finally:
            self._table.unfinished.discard(self.finish)

    async def _move_what_is_left(self) -> bool:
        """Return whether nothing failed."""
        for _ in range(_LOOKS):
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

    async def put_right(self, products: Iterable[str]) -> None:
        """Move products until each was found in its places; raises DalError.

        What others go on changing is left to them after a few looks.
        """
        left = list(products)
        for _ in range(_LOOKS):
            for some in batched(left, _TOGETHER):
                wrong = await in_parallel([self.move(one) for one in some])
                left = [*left[len(some) :], *(one for one, n in zip(some, wrong, strict=True) if n)]
            if not left:
                return

    async def move(self, product_id: str) -> int:
        """Put a product in its places, if it is in others; return how many were wrong."""
        request = QueryRequest(
            TABLE,
            counter_items.partition_of(product_id),
            counter_items.SORT_KEYS,
            consistent=True,
        )
        stored: list[StoredCounts] = []
        async for answer in query_all(self._table.query, request):
            stored += stored_in(answer.items)
        wrong = list(misplaced(product_id, stored))
        for item, place in wrong:
            with suppress(ConditionFailedError):  # somebody else was faster
                await self._table.update(_move(item, place))
                self.moved += 1
        return len(wrong)

    async def _follow(self) -> None:
        while True:
            await self._noted.wait()
            await asyncio.sleep(MOVE_SECONDS)
            try:
                await self._move_all(self._take(MOST_AT_ONCE))
            except Exception:  # noqa: BLE001 - what nobody foresaw may not stop the others
                _log.exception("Products were not moved on leaderboards.")

    def _take(self, most: int) -> list[str]:
        """Return the products that were noted first, which are no longer pending."""
        taken = list(self._pending)[:most]
        for product_id in taken:
            del self._pending[product_id]
        if not self._pending:
            self._noted.clear()
        return taken

    async def _move_all(self, products: Sequence[str]) -> int:
        """Move products, and note those again that were in a wrong place or met a passing failure.

        Return how many failed, which the log tells by then.
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
        except BaseException:  # whoever goes on looks at all of them
            for product_id in products:
                self._note(product_id)
            raise
        return failed


def _move(item: Item, place: Item) -> Item:
    """Return the arguments of an UpdateItem that gives an item its place, if it is where it was."""
    update = unchanged(item, _KEYS)
    if place:
        values = update.get("ExpressionAttributeValues", {})
        to = {f":to_{name}": value for name, value in place.items()}
        update["ExpressionAttributeValues"] = values | to
        expression = "SET " + ", ".join(f"#{name} = :to_{name}" for name in place)
    else:
        expression = "REMOVE " + ", ".join(f"#{name}" for name in _KEYS)
    return {"Key": key_of(item), "UpdateExpression": expression, **update}
