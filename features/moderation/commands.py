"""``marginalia user block``, ``unblock`` and ``blocked``: block users, and list blocked users."""

from typing import Annotated

import typer
from rich.table import Table as Grid

from dal.dynamodb.table import Table
from dal.model import own_ids, rules
from dal.query.pagination import all_rows
from dal.repositories.standings import StandingRepository
from features.moderation.repository import BlockRepository
from server.cli.console import console
from server.cli.options import STORE, Name, takes
from server.local_engine.storage import open_table
from server.sentences import counted
from server.settings import Settings

_ROWS_AT_ONCE = 100


@takes(*STORE)
async def block(
    name: Name,
    *,
    reason: Annotated[
        str,
        typer.Option(
            help="Reason of the block, for moderators. Maximum 200 characters.", show_default=False
        ),
    ],
    settings: Settings,
) -> None:
    """Block a user: new comments and edits of the user wait for a moderator.

    Published comments stay. The block also works on a server with --moderation off.
    """
    name, reason = own_ids.account("NAME", name), rules.stated_title("--reason", reason)
    async with open_table(settings, share=True) as table:
        await _blocks(table).block(name, reason, by=None)
    typer.echo(f"User {name} is blocked: new comments and edits wait for a moderator.")


@takes(*STORE)
async def unblock(name: Name, *, settings: Settings) -> None:
    """Unblock a user. Comments that already wait for a moderator stay in the queue."""
    name = own_ids.account("NAME", name)
    async with open_table(settings, share=True) as table:
        await _blocks(table).unblock(name)
    typer.echo(f"User {name} is not blocked.")


@takes(*STORE)
async def blocked(*, settings: Settings) -> None:
    """List the blocked users. The latest block is first."""
    async with open_table(settings, share=True) as table:
        found = [one async for one in all_rows(_blocks(table).page, _ROWS_AT_ONCE)]
    grid = Grid(title=counted(len(found), "blocked user"), title_justify="left")
    for heading in ("User", "Since (UTC)", "By", "Reason"):
        grid.add_column(heading, overflow="fold")
    for one in found:
        grid.add_row(one.username, f"{one.at:%Y-%m-%d %H:%M}", one.by or "(none)", one.reason)
    console().print(grid)


def _blocks(table: Table) -> BlockRepository:
    return BlockRepository(table, StandingRepository(table))
