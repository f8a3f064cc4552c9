"""Standings: restrictions of what users may write, such as a moderator's block of a user."""

from collections.abc import Callable

from dal.dynamodb.retries import retry_on_change
from dal.dynamodb.table import Table
from dal.entities.order import purchase_key
from dal.entities.standing import (
    STANDING,
    Standing,
    permission_in,
    standing_in,
    standing_key,
)
from dal.model.standings import Permission
from dal.table.index import tombstone_expiry
from dal.table.items import replacement


class StandingRepository:
    """Reads and writes standings."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def permission(self, username: str, product_id: str | None = None) -> Permission:
        """Return what a user may write about a product, by one BatchGetItem (access pattern AP19).

        The read is eventually consistent, so a new block takes effect some moments later. Without a
        product, purchases are not read, and ``bought`` is False.
        """
        keys = [standing_key(username)]
        if product_id is not None:
            keys.append(purchase_key(username, product_id))
        return permission_in(await self._table.get_many(keys, consistent=False))

    async def rewrite(
        self, username: str, step: Callable[[Standing], Standing | None]
    ) -> Standing | None:
        """Replace a user's standing by ``step(standing)``. Return the new standing.

        If ``step`` returns None, nothing is written. A standing without restrictions becomes a
        tombstone, so that the network cannot delay a block until after the unblocking. Raises
        ConflictError if other requests keep changing the standing.
        """

        async def attempt() -> Standing | None:
            item = await self._table.get(standing_key(username))
            new = step(Standing(username) if item is None else standing_in(item))
            if new is None:
                return None
            expiry = tombstone_expiry() if new == Standing(username) else {}
            await self._table.write([replacement(item, STANDING.encode(new) | expiry)])
            return new

        return await retry_on_change(attempt, "this user's standing")
