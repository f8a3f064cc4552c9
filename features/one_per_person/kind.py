"""What commands on the whole table know of one comment per person."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from dal.counts.mode import Maintenance, MaintenanceStore
from dal.dynamodb.concurrency import in_parallel
from dal.dynamodb.errors import ConflictError
from dal.dynamodb.scan import SCAN_SEGMENTS, scan_pages
from dal.dynamodb.table import Table
from dal.entities.comment import comment_key
from dal.entities.submission import stored
from dal.kinds.correction import Correction
from dal.kinds.item_kind import ItemKind
from dal.table.index import TABLE, QueryRequest, query_all
from dal.table.items import Item
from dal.table.key_parts import unescape
from features.one_per_person.entity import NAMED, commented, is_commented
from features.one_per_person.marking import FURTHER, name_comments
from features.one_per_person.model import OnePerPerson, limit_of
from features.one_per_person.write_rule import named, unnamed_among

KIND = ItemKind(
    name="commented",
    noun="commented-product record",
    holds=is_commented,
    decode=lambda item: {
        "product_id": unescape(item["SK"]["S"].partition("#")[2]),
        "comment_id": item[NAMED]["S"],
    },
)

NAMELESS = ItemKind(
    holds=lambda item: item["PK"]["S"] == FURTHER or item["PK"]["S"].startswith(f"{FURTHER}#")
)
"""The ids of older comments, and the progress of a scan."""

_SENTENCES = {
    OnePerPerson.OFF: "A person may have any number of comments on a product.",
    OnePerPerson.MARKING: "A person may have one comment on each product, but not all older "
    "comments are recorded yet. Run `marginalia table one-per-person on` again.",
    OnePerPerson.ON: "A person may have one comment on each product.",
}


def described(_: Mapping[str, Any], state: Maintenance) -> str:
    """Return the sentence of ``table describe`` about the limit."""
    return _SENTENCES[limit_of(state)]


class ReservationCorrection(Correction):
    """Corrects reservations by a scan, if the table allows only one comment per user and product.

    ``added`` is the number of reservations that were written, and ``removed`` the number of those
    that were deleted.
    """

    corrects = "the records by which servers allow only one comment per person"

    def __init__(self, table: Table) -> None:
        self._table = table
        self.added = 0
        self.removed = 0

    def report(self) -> str:
        """Return how many reservations were missing or left over."""
        if not (self.added or self.removed):
            return ""
        return (
            f"One comment per person: {self.added:,} comments were not recorded. They are "
            f"recorded now. {self.removed:,} records of deleted comments are removed."
        )

    async def correct(self, suspects: Collection[str]) -> None:
        """Write missing reservations, and remove reservations of deleted comments.

        A comment that exceeds the limit, because its write arrived late, is added to the comments
        that ``switch_on`` returns.

        If the limit is off or is being turned on, this method changes nothing.
        """
        del suspects
        if limit_of(await MaintenanceStore(self._table).read()) is not OnePerPerson.ON:
            return
        further: set[str] = set()
        request = QueryRequest(TABLE, FURTHER, consistent=True)
        async for answer in query_all(self._table.query, request):
            further |= {unescape(item["SK"]["S"]) for item in answer.items}

        async def correct(segment: int) -> None:
            async for items, _ in scan_pages(self._table, segment):
                await self._add(items, further)
                await self._remove([item for item in items if is_commented(item)])

        removed = -1
        # Scan again after each scan with removals, because the author of a removed reservation may
        # have another comment, which needs a reservation.
        while removed != self.removed:
            removed = self.removed
            await in_parallel([correct(segment) for segment in range(SCAN_SEGMENTS)])

    async def _add(self, items: Sequence[Item], further: Collection[str]) -> None:
        there = [(one, item) for item in items if (one := stored(item)) is not None]
        found = await unnamed_among(self._table, [one for one, _ in there])
        unnamed = [
            item
            for one, item in there
            if item["PK"]["S"] in found and one.comment_id not in further
        ]
        if unnamed:
            await name_comments(self._table, unnamed)
            self.added += len(unnamed)

    async def _remove(self, names: Sequence[Item]) -> None:
        keys = {item[NAMED]["S"]: comment_key(item[NAMED]["S"]) for item in names}
        found = await self._table.get_many([*keys.values()])
        owners = [commented(one) for item in found if (one := stored(item)) is not None]
        stale = [item for item in names if item not in owners]
        if stale:
            # ``named`` removes the stale reservations, then always raises ConflictError. Ignore the
            # error: if a removal failed, the next scan repeats it.
            with suppress(ConflictError):
                await named(self._table, stale)
            self.removed += len(stale)
