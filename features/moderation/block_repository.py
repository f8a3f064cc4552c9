"""Blocks of users: stores them in the standings of users, and lists the blocked users."""

from dataclasses import replace
from datetime import UTC, datetime

from dal.catalogue import query_of
from dal.dynamodb.table import Table
from dal.entities.standing import IS_BLOCKED, STANDING, Standing
from dal.model.standings import Block
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.repositories.standings import StandingRepository
from dal.table.entity import Row

_BLOCKED = query_of(IS_BLOCKED)


class BlockRepository:
    """Writes blocks, and lists the blocked users. The list is eventually consistent."""

    def __init__(self, table: Table, standings: StandingRepository) -> None:
        self._standings = standings
        executor = Executor(table.query, STANDING.indexes)
        self._pages = PageReader(executor, _block, descending=True)

    async def block(self, username: str, reason: str, by: str | None) -> Block:
        """Block a user. ``by`` is the moderator; None if an operator's command blocks the user.

        If the user is already blocked for the same reason, the older block stays and is returned.
        """
        block = Block(username, reason, datetime.now(UTC), by)

        def blocked(standing: Standing) -> Standing:
            there = standing.block
            return replace(standing, block=there if there and there.reason == reason else block)

        standing = await self._standings.rewrite(username, blocked)
        return (standing and standing.block) or block

    async def unblock(self, username: str) -> None:
        """End the block of a user. Comments that wait for a moderator continue to wait."""
        await self._standings.rewrite(username, lambda standing: replace(standing, block=None))

    async def page(self, cut: Slice) -> Page[Block]:
        """Return one page of the blocked users, the latest block first (access pattern AP18)."""
        return await self._pages.read(_BLOCKED, cut)


def _block(row: Row) -> Block:
    block = STANDING.decode_row(row).block
    assert block is not None  # noqa: S101 - the list has only blocked users
    return block
