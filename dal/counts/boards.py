"""Boards: moves products on leaderboards some seconds after their counters change.

A product has a statistics item for each range of languages, and one for all languages. Two key
attributes of each item determine the product's place on a leaderboard. All rows of a leaderboard
are in one partition of an index. If each write's transaction changed these attributes, this one
partition would limit the rate of all writes of comments rated 5. So each process collects the
products with a changed number of comments rated 5, and moves each product at most once every two
seconds.

A move reads the product's items in one consistent Query. Then it updates each item that is in a
wrong place, on condition that the item's place has not changed. The process repeats the move until
it finds no item in a wrong place, because meanwhile another process may have moved the product
according to older counts.

If a process is killed before a move, the next process that reads the product's statistics moves the
product.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from dal.counts import counter_items
from dal.counts.counter_items import StoredCounts, place_of, stored_in
from dal.counts.counts import CounterRule, Deltas, StatisticsKey
from dal.counts.deferred import DeferredWork
from dal.dynamodb.errors import ConditionFailedError
from dal.dynamodb.table import Table
from dal.entities.product import LEADERS
from dal.model import Comment
from dal.model.languages import ranges_of
from dal.table.index import TABLE, QueryRequest, query_all
from dal.table.items import Item, key_of, unchanged

_KEYS = (LEADERS.partition_key, LEADERS.sort_key)


def misplaced(product_id: str, stored: Iterable[StoredCounts]) -> Iterator[tuple[Item, Item]]:
    """Yield a product's items that have wrong leaderboard keys, each with the right keys.

    The right keys are empty for an item that belongs on no leaderboard. ``stored`` has all
    statistics items of the product. If the item of all languages or of a range of languages is
    missing but needs keys, the function yields its primary key instead of the item.
    """
    held, fives = dict[str | None, Item](), dict[str | None, int]()
    for key, counts, item in stored:
        held[key.language] = item
        fives.setdefault(key.language, 0)
        if key.language is not None:
            for one in (None, *ranges_of(key.language)):
                fives[one] = fives.get(one, 0) + max(0, counts.fives)
    for language, count in fives.items():
        key = StatisticsKey(product_id, language)
        item, place = held.get(language) or counter_items.item_key(key), place_of(key, count)
        if {name: item[name] for name in _KEYS if name in item} != place:
            yield item, place


class Boards(DeferredWork, CounterRule):
    """Moves products on the leaderboards of one table."""

    undone = "Some products were not moved on leaderboards"
    repaired_by = "the next read of their statistics, or `marginalia stats verify`, moves them"

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.moved = 0
        """The number of corrected places."""

    def counted(self, changes: Deltas) -> None:
        """Remember to move the products with a changed number of comments rated 5."""
        for key, change in changes.items():
            if change.fives and key.generation is None:
                self.note(key.product_id)

    def seen(self, product_id: str, stored: Sequence[StoredCounts]) -> None:
        """Remember to move a product if one of its items ``stored`` has wrong leaderboard keys."""
        if product_id not in self._pending and any(misplaced(product_id, stored)):
            self.note(product_id)

    async def work(self, name: str) -> bool:
        """Move a product to its right places. Return True if a place was wrong before."""
        return await self.move(name) > 0

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
            with suppress(ConditionFailedError):  # another process has moved the product
                await self._table.update(update)
                self.moved += 1
        return len(wrong)


class BoardCorrection:
    """Moves products to their places on the leaderboards."""

    corrects = "the ranks on leaderboards"
    removes = ""

    def __init__(self, table: Table) -> None:
        self.boards = Boards(table)
        self._stored: dict[str, list[StoredCounts]] = {}

    def scanned(self, items: Sequence[Item], comments: Sequence[Comment]) -> None:
        """Keep the statistics items."""
        del comments
        for one in stored_in(items):
            self._stored.setdefault(one.key.product_id, []).append(one)

    def suspects(self) -> Collection[str]:
        """Return no comments, because this correction is about products."""
        return ()

    async def correct(self, suspects: Collection[str]) -> None:
        """Move the products that have a wrong place."""
        del suspects
        moving = (one for one, stored in self._stored.items() if any(misplaced(one, stored)))
        await self.boards.correct(moving)

    def report(self) -> str:
        """Return how many ranks were wrong."""
        moved = self.boards.moved
        sentences = f"{moved:,} ranks on leaderboards were out of date. They are correct now."
        return sentences if moved else ""
