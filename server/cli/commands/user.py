"""``marginalia user``: blocks of users, and users' rights."""

from typing import Annotated

import typer

from dal.model import rules
from dal.stores import Stores
from server.cli.commands.personal_data import erase, export
from server.cli.options import STORE, takes
from server.engine.storage import open_table
from server.settings import Settings

__all__ = ["block", "erase", "export", "unblock"]

Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.", show_default=False)]


@takes(*STORE)
async def block(
    name: Name,
    *,
    reason: Annotated[
        str, typer.Option(help="Why, for moderators. Maximum 200 characters.", show_default=False)
    ],
    settings: Settings,
) -> None:
    """Let a user's new comments and edits wait for a moderator.

    Published comments stay. The block holds from the user's next comment on, under every rule of
    moderation.
    """
    name, reason = rules.identifier("NAME", name), rules.stated_title("--reason", reason)
    async with open_table(settings, share=True) as table:
        await Stores(table).standings.block(name, reason, by=None)
    typer.echo(f"User {name} is blocked: new comments and edits wait for a moderator.")


@takes(*STORE)
async def unblock(name: Name, *, settings: Settings) -> None:
    """End the block of a user; what waits is left to the moderators."""
    name = rules.identifier("NAME", name)
    async with open_table(settings, share=True) as table:
        await Stores(table).standings.unblock(name)
    typer.echo(f"User {name} is not blocked.")
