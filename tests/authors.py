"""Gives a table the optional index by which comments are listed by author."""

from dal.repositories.upgrade import Upgraded, upgrade
from dal.table.client import Table
from tests.writers import ignore


async def nobody() -> None:
    """Wait where there is nobody."""


async def upgraded(table: Table, *, author_index: bool = True) -> Upgraded:
    return await upgrade(
        table,
        global_for_local=False,
        author_index=author_index,
        tell=lambda *_: None,
        seen=ignore,
        wait_for_writers=nobody,
    )
