"""Standings: restrictions of what users may write, such as a moderator's block of a user."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from dal.catalogue import query_of
from dal.dynamodb.retries import retry_on_change
from dal.dynamodb.table import Table
from dal.entities.order import purchase_key
from dal.entities.standing import (
    IS_BLOCKED,
    STANDING,
    Standing,
    permission_in,
    standing_in,
    standing_key,
)
from dal.model.standings import Block, Permission
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.table.entity import Row
from dal.table.index import tombstone_expiry
from dal.table.items import replacement


class StandingRepository:
    """Reads and writes standings. The list of blocked users is eventually consistent."""

    def __init__(self, table: Table) -> None:
        self._table = table
        executor = Executor(table.query, STANDING.indexes)
        self._pages = PageReader(executor, _block, descending=True)

    async def permission(self, username: str, product_id: str | None = None) -> Permission:
        """Return what a user may write about a product, by one BatchGetItem (access pattern AP19).

        The read is eventually consistent, so a new block takes effect some moments later. Without a
        product, purchases are not read, and ``bought`` is False.
        """
        keys = [standing_key(username)]
        if product_id is not None:
            keys.append(purchase_key(username, product_id))
        return permission_in(await self._table.get_many(keys, consistent=False))

    async def block(self, username: str, reason: str, by: str | None) -> Block:
        """Block a user. ``by`` is the moderator; None if an operator's command blocks the user.

        If the user is already blocked for the same reason, the older block stays and is returned.
        """
        block = Block(username, reason, datetime.now(UTC), by)

        def blocked(standing: Standing) -> Standing:
            there = standing.block
            return replace(standing, block=there if there and there.reason == reason else block)

        standing = await self.rewrite(username, blocked)
        return (standing and standing.block) or block

    async def unblock(self, username: str) -> None:
        """End the block of a user. Comments that wait for a moderator continue to wait."""
        await self.rewrite(username, lambda standing: replace(standing, block=None))

    async def blocked(self, cut: Slice) -> Page[Block]:
        """Return one page of the blocked users, the latest block first (access pattern AP18)."""
        return await self._pages.read(query_of(IS_BLOCKED), cut)

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


def _block(row: Row) -> Block:
    block = STANDING.decode_row(row).block
    assert block is not None  # noqa: S101 - the list has only blocked users
    return block
