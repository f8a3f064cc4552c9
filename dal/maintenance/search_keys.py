"""Corrects the keys by which products are found by the words of their titles.

One transaction writes the details of a product with all keys of its title. They differ only if
another program, an earlier version, or a service without transactions has written some of them.
"""

from collections.abc import Collection, Iterator, Sequence

from dal.dynamodb.concurrency import batched, in_parallel
from dal.dynamodb.retries import MAINTENANCE_DEADLINE, retry_on_change
from dal.dynamodb.table import Table
from dal.entities.product import DETAILS, WORDS, is_details, is_word, product_items
from dal.kinds.correction import Correction
from dal.model import Comment
from dal.repositories.products import write_products
from dal.table.entity import UNREADABLE
from dal.table.index import TABLE, QueryRequest, query_all
from dal.table.items import Action, Item, contents, key_of, primary_key, replacement

_AT_ONCE = 8
"""Number of products that are corrected in parallel."""


class SearchKeyCorrection(Correction):
    """Writes the items of products whose keys differ from their titles.

    ``corrected`` is the number of these products.
    """

    corrects = "the words by which products are found"

    def __init__(self, table: Table) -> None:
        self._table = table
        self._differences: dict[str, int] = {}
        """For each partition, the sum of the hashes of the items that it should have, minus that of
        the items that it has. Zeros are left out, so only products that differ need memory."""
        self.corrected = 0

    def scanned(self, items: Sequence[Item], comments: Sequence[Comment]) -> None:
        """Compare the items of products with their details."""
        del comments
        for item in items:
            if is_details(item) or is_word(item):
                partition = item["PK"]["S"]
                difference = self._differences.pop(partition, 0) + sum(_hashes(item))
                if difference:
                    self._differences[partition] = difference

    async def correct(self, suspects: Collection[str]) -> None:
        """Correct the products that differ, and not only seemed to differ during their write."""
        del suspects
        for some in batched(sorted(self._differences), _AT_ONCE):
            done = await in_parallel([self._correct(partition) for partition in some])
            self.corrected += sum(done)

    async def _correct(self, partition: str) -> bool:
        """Return whether the product differed."""

        async def attempt() -> bool:
            # The words are read first. So if there are no details, the words are not those of a
            # product that was created meanwhile.
            request = QueryRequest(TABLE, partition, WORDS, consistent=True)
            words = [
                item
                async for answer in query_all(self._table.query, request)
                for item in answer.items
                if is_word(item)
            ]
            details = await self._table.get(primary_key(partition, DETAILS))
            try:
                actions = list(_actions(details, words))
            except UNREADABLE:  # another program has stored the details
                return False
            await write_products(self._table, actions)
            return bool(actions)

        return await retry_on_change(attempt, "a product", MAINTENANCE_DEADLINE)

    def report(self) -> str:
        """Return how many products had wrong keys."""
        sentences = (
            f"{self.corrected:,} products were not found by the words of their titles. "
            "They are found now."
        )
        return sentences if self.corrected else ""


def _hashes(item: Item) -> Iterator[int]:
    """Yield what an item adds to the difference of its partition."""
    yield -_hash(contents(item))
    if is_details(item):
        try:
            yield from map(_hash, product_items(item))
        except UNREADABLE:
            yield _hash(contents(item))


def _hash(item: Item) -> int:
    return hash(repr(sorted(item.items())))


def _actions(details: Item | None, words: Sequence[Item]) -> Iterator[Action]:
    """Yield the actions that correct a product. They fail if its details change meanwhile."""
    wanted = [] if details is None else product_items(details)
    if [contents(one) for one in (details, *words) if one is not None] == wanted:
        return
    if details is not None:
        yield replacement(details, wanted[0])
    kept = [key_of(one) for one in wanted]
    yield from ({"Put": {"Item": one}} for one in wanted[1:] if one not in words)
    yield from ({"Delete": {"Key": key_of(one)}} for one in words if key_of(one) not in kept)
