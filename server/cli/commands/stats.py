"""``marginalia stats``: rebuilds and verifies the statistics."""

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer
from rich.table import Table as Grid

from dal.composition import CORRECTIONS, COUNTING_MODES
from dal.counts.mode import MaintenanceStore
from dal.dynamodb.concurrency import Pace
from dal.maintenance.verify import Difference
from dal.maintenance.verify import verify as verify_table
from server.cli.console import console
from server.cli.long_running import ReadUnits, long_running, scanning, writers_settled
from server.cli.options import STORE, takes
from server.errors import DIFFERS, CommandError
from server.local_engine.storage import open_store
from server.sentences import series
from server.settings import Settings

SHOWN = 100
"""Maximum number of differences that ``verify`` prints."""

if TYPE_CHECKING:
    Mode: TypeAlias = str
else:  # Typer takes the choices of an option from its type.
    Mode = Literal[tuple(COUNTING_MODES)]

_EXPLAINED = " ".join(f"{name}: {mode.explained}" for name, mode in COUNTING_MODES.items())


@long_running
@takes(*STORE)
async def rebuild(
    *,
    mode: Annotated[
        Mode | None,
        typer.Option(
            help=f"What updates the counters from now on. {_EXPLAINED} Default: no change.",
            show_default=False,
        ),
    ] = None,
    read_units: ReadUnits = None,
    settings: Settings,
) -> None:
    """Count all comments and make the statistics exact, while servers write.

    If the command is interrupted, run it again.
    """
    async with open_store(settings, share=True) as store:
        store.table.read_pace = Pace(read_units, reads=True)
        wanted = COUNTING_MODES[mode or (await MaintenanceStore(store.table).read()).mode]
        async with scanning(store) as (progress, seen):
            wait_for_writers = writers_settled(store, progress)
            await wanted.rebuild(store.stores.maintenance, store.connection, wait_for_writers, seen)
        for one in COUNTING_MODES.values():
            if one is not wanted:
                await one.leave(store.table)
    typer.echo(f"Table {settings.table}: the statistics are exact. From now on, {wanted.updated}.")


@long_running
@takes(*STORE)
async def verify(*, read_units: ReadUnits = None, settings: Settings) -> None:
    """Count all comments and compare the result with the statistics.

    The exit code is 1 if the statistics are wrong. The command does not correct them. But it
    corrects {corrected}.{removed}
    """
    async with open_store(settings, share=True) as store:
        store.table.read_pace = Pace(read_units, reads=True)
        mode = (await MaintenanceStore(store.table).read()).mode
        corrections = [made(store.table) for made in CORRECTIONS]
        async with scanning(store) as (_, seen):
            found = await verify_table(store.table, seen, corrections)
    for sentences in filter(None, (one.report() for one in corrections)):
        typer.echo(sentences)
    if not found:
        typer.echo(f"Table {settings.table}: the statistics equal a recount.")
        return
    console().print(_grid(found))
    if_wrong = COUNTING_MODES[mode].if_wrong
    raise CommandError(f"The statistics of table {settings.table} are wrong: {if_wrong}", DIFFERS)


_removed = series(sorted(one.removes for one in CORRECTIONS if one.removes))
verify.__doc__ = (verify.__doc__ or "").format(
    corrected=series([one.corrects for one in CORRECTIONS if one.corrects]),
    removed=f" It also removes {_removed} of deleted comments." if _removed else "",
)


def _grid(found: list[Difference]) -> Grid:
    grid = Grid(title=f"{len(found):,} differences", title_justify="left")
    for heading in ("Product", "Language", "What"):
        grid.add_column(heading, overflow="fold")
    grid.add_column("Stored", justify="right")
    grid.add_column("Expected", justify="right")
    for one in found[:SHOWN]:
        language = one.key.language or "(all)"
        grid.add_row(one.key.product_id, language, one.what, str(one.stored), str(one.expected))
    if len(found) > SHOWN:
        grid.add_row("…")
    return grid
