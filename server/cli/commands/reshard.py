"""``marginalia table reshard``: spreads comments and counters over other numbers of shards."""

import asyncio
from typing import Annotated

import typer

from dal.entities.shard_layout import MOST_SHARDS
from dal.repositories.reshard import reshard as reshard_table
from dal.repositories.reshard import reshard_counters
from dal.statistics.maintenance_mode import MOVE_SETTLE_SECONDS
from dal.table import admin
from dal.table.pace import Pace
from server.cli import options
from server.engine.storage import Store, open_store
from server.errors import CommandError
from server.progress import ProgressBar
from server.settings import Settings

_SHARDS = typer.Option(
    envvar="MARGINALIA_SHARDS",
    min=1,
    max=MOST_SHARDS,
    help="Partitions that each list of a product's comments is spread over. More take more writes "
    "a second, and every page asks all of them.",
    show_default=False,
)
_COUNTER_SHARDS = typer.Option(
    envvar="MARGINALIA_COUNTER_SHARDS",
    min=1,
    max=MOST_SHARDS,
    help="Items that the counts of a product and language are spread over. With more, servers that "
    "write about one product are less in each other's way; a count of zero then proves nothing.",
    show_default=False,
)

Shards = Annotated[int, _SHARDS]
CounterShards = Annotated[int, _COUNTER_SHARDS]

_SCANS = 2


@options.of_store
def reshard(
    *,
    shards: Annotated[int | None, _SHARDS] = None,
    counter_shards: Annotated[int | None, _COUNTER_SHARDS] = None,
    write_units: options.WriteUnits = None,
    settings: Settings,
) -> None:
    """Spread comments, or their counters, over another number of shards beside running servers.

    No page lacks a row meanwhile, and every count is right; some pages cost more. Interrupted, it
    goes on with the same command.
    """
    if shards is None and counter_shards is None:
        raise CommandError("Say how many: --shards of the lists, --counter-shards of the counters.")
    asyncio.run(_reshard(settings, shards, counter_shards, Pace(write_units)))


async def _reshard(
    settings: Settings, shards: int | None, counter_shards: int | None, pace: Pace
) -> None:
    async with open_store(settings, share=True) as store:
        store.table.pace = pace
        if shards is not None:
            moved = await _move(settings, store, shards)
            _tell(settings, f"comments stand in {_of(shards)} of each list", done=moved)
        if counter_shards is not None:
            moved = await _spread(settings, store, counter_shards)
            _tell(settings, f"counters have {_of(counter_shards)}", done=moved)


async def _move(settings: Settings, store: Store, shards: int) -> bool:
    total = _SCANS * (await admin.describe(store.table))["ItemCount"] or None
    with ProgressBar(settings.table, total) as progress:

        def seen(items: int) -> None:
            progress.update(items, f"{items:,} items seen")

        return await reshard_table(store.table, shards, lambda: _wait(store, progress), seen)


async def _spread(settings: Settings, store: Store, counter_shards: int) -> bool:
    with ProgressBar(settings.table, None) as progress:
        return await reshard_counters(store.table, counter_shards, lambda: _wait(store, progress))


async def _wait(store: Store, progress: ProgressBar) -> None:
    """Wait until all servers go by what was announced, where there are others."""
    if not store.alone:
        progress.say(f"Waiting {MOVE_SETTLE_SECONDS:.0f} s until running servers take part.")
        await asyncio.sleep(MOVE_SETTLE_SECONDS)


def _tell(settings: Settings, what: str, *, done: bool) -> None:
    end = "." if done else " already; nothing was changed."
    typer.echo(f"Table {settings.table}: {what}{end}")


def _of(shards: int) -> str:
    return f"{shards} shard{'s' if shards > 1 else ''}"
