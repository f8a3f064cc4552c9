"""``marginalia table reshard``: spreads comments over another number of shards."""

import asyncio
from typing import Annotated

import typer

from dal.entities.shard_layout import MOST_SHARDS
from dal.repositories.reshard import reshard as reshard_table
from dal.statistics.maintenance_mode import MOVE_SETTLE_SECONDS
from dal.table import admin
from dal.table.pace import Pace
from server.cli import options
from server.engine.storage import open_store
from server.progress import ProgressBar
from server.settings import Settings

Shards = Annotated[
    int,
    typer.Option(
        envvar="MARGINALIA_SHARDS",
        min=1,
        max=MOST_SHARDS,
        help="Partitions that each list of a product's comments is spread over. More take more "
        "writes a second, and every page asks all of them.",
    ),
]

_SCANS = 2


@options.of_store
def reshard(
    *,
    shards: Shards,
    write_units: options.WriteUnits = None,
    settings: Settings,
) -> None:
    """Spread comments over another number of shards, while servers read and write.

    No page lacks a row meanwhile; some cost more. Interrupted, it goes on with the same command.
    """
    moved = asyncio.run(_reshard(settings, shards, Pace(write_units)))
    stand = f"Table {settings.table}: comments stand in {shards} shard{'s' if shards > 1 else ''}"
    typer.echo(f"{stand} of each list." if moved else f"{stand} already; nothing was changed.")


async def _reshard(settings: Settings, shards: int, pace: Pace) -> bool:
    async with open_store(settings, share=True) as store:
        store.table.pace = pace
        total = _SCANS * (await admin.describe(store.table))["ItemCount"] or None
        with ProgressBar(settings.table, total) as progress:

            async def wait_for_all() -> None:
                if not store.alone:
                    seconds = f"{MOVE_SETTLE_SECONDS:.0f} s"
                    progress.say(f"Waiting {seconds} until running servers take part.")
                    await asyncio.sleep(MOVE_SETTLE_SECONDS)

            def seen(items: int) -> None:
                progress.update(items, f"{items:,} items seen")

            return await reshard_table(store.table, shards, wait_for_all, seen)
