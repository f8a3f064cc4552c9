"""Standings: restrictions of what users may write, such as a moderator's block of a user."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Protocol

from dal.dynamodb.concurrency import both
from dal.dynamodb.retries import retry_on_change
from dal.dynamodb.table import Table
from dal.entities.order import purchase_key, purchases_of
from dal.entities.product import details_in, details_key
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


class Variants(Protocol):
    """Reads which products are variants of one product."""

    async def members(self, group_id: str) -> Collection[str]:
        """Return the ids of a group's products. The read is eventually consistent."""


class StandingRepository:
    """Reads and writes standings.

    ``variants`` reads groups: a user who received a product of a group has bought all products of
    the group. With None, purchases count for their own product only.
    """

    def __init__(self, table: Table, variants: Variants | None = None) -> None:
        self._table = table
        self._variants = variants

    async def permission(self, username: str, product_id: str | None = None) -> Permission:
        """Return what a user may write about a product, by one BatchGetItem (access pattern AP19).

        If the product has a group, and the user did not receive the product itself, the group and
        the user's purchases are then read in parallel. All reads are eventually consistent, so a
        new block takes effect some moments later. Without a product, purchases are not read, and
        ``bought`` is False.
        """
        keys = [standing_key(username)]
        if product_id is not None:
            keys.append(purchase_key(username, product_id))
            if self._variants is not None:
                keys.append(details_key(product_id))
        items = await self._table.get_many(keys, consistent=False)
        permission = permission_in(items)
        group_id = next((one.group for one in details_in(items).values()), None)
        if self._variants is None or permission.bought or not group_id:
            return permission
        # Purchases are read by a Query, because a Query of about 90 of them costs 0.5 RCU, as much
        # as the look-up of each product of the group.
        request = purchases_of(username)
        variants, page = await both(self._variants.members(group_id), self._table.query(request))
        proofs = {purchase_key(username, one)["SK"]["S"] for one in variants}
        while not (bought := any(item["SK"]["S"] in proofs for item in page.items)):
            if page.last_key is None:
                break
            page = await self._table.query(replace(request, start=page.last_key))
        return replace(permission, bought=bought)

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
