"""Removes what killed processes have left of deleted comments."""

from collections.abc import Collection

from dal.dynamodb.concurrency import batched
from dal.dynamodb.table import GET_BATCH, Table
from dal.entities.comment import comment_key, is_tombstone
from dal.kinds.correction import Correction
from dal.stores import Stores


class Leftovers(Correction):
    """Lets the rules of writes remove what belongs to deleted comments.

    The other corrections find the comments. ``removed`` is the number of deleted comments.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._writer = Stores(table).writer
        self.removed = 0

    async def correct(self, suspects: Collection[str]) -> None:
        """Remove what belongs to the deleted comments among ``suspects``."""
        for some in batched(sorted(suspects), GET_BATCH):
            items = await self._table.get_many([comment_key(one) for one in some])
            there = {item["PK"]["S"] for item in items if not is_tombstone(item)}
            for comment_id in some:
                if comment_key(comment_id)["PK"]["S"] not in there:
                    await self._writer.remove_rest(comment_id)
                    self.removed += 1

    def report(self) -> str:
        """Return how many deleted comments had left something."""
        sentence = f"What was left of {self.removed:,} deleted comments is removed."
        return sentence if self.removed else ""
