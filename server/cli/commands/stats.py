"""``marginalia stats``: rebuilds and verifies the statistics, and follows the table's stream.

``stream`` is imported only by what needs it.
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from dal.client import admin
from dal.client.concurrency import Pace
from dal.client.scan import Progress
from dal.client.streams import latest_stream
from dal.client.table import connect_streams
from dal.maintenance.rebuild import rebuild as rebuild_transactional
from dal.maintenance.verify import Difference
from dal.maintenance.verify import verify as verify_table
from dal.statistics.boards import Boards
from dal.statistics.mode import SETTLE_SECONDS, MaintenanceMode, MaintenanceStore
from server.cli import options
from server.cli.patience import maintenance
from server.engine.storage import Store, open_store
from server.errors import DIFFERS, UNAVAILABLE, CommandError
from server.observability.exposition import followed
from server.progress import ProgressBar
from server.settings import Settings

SHOWN = 100
"""Differences in the table of them."""

_NEXT = {
    MaintenanceMode.TRANSACTIONAL: "run `marginalia stats rebuild`, which is safe while servers "
    "run.",
    MaintenanceMode.STREAM: "if `marginalia stats follow` is behind, let it catch up and "
    "verify again; otherwise run `marginalia stats rebuild`.",
}
_KEPT_BY = {
    MaintenanceMode.TRANSACTIONAL: "this program's writes keep them",
    MaintenanceMode.STREAM: "`marginalia stats follow`, or the Lambda function, keeps them",
}


@maintenance
@options.of_store
def rebuild(
    *,
    mode: Annotated[
        MaintenanceMode | None,
        typer.Option(
            envvar="MARGINALIA_MODE",
            help="How the counters are kept from now on: by this program's own writes, or from the "
            "table's stream, for tables that other programs write to. As it is, if not given.",
            show_default=False,
        ),
    ] = None,
    read_units: options.ReadUnits = None,
    settings: Settings,
) -> None:
    """Count all comments anew and make the statistics exact, while servers go on writing.

    Interrupted, it is begun again with the same command.
    """
    kept = asyncio.run(_rebuild(settings, mode, read_units))
    typer.echo(f"Table {settings.table}: the statistics are exact; {_KEPT_BY[kept]}.")


@maintenance
@options.of_store
def verify(*, read_units: options.ReadUnits = None, settings: Settings) -> None:
    """Compare the statistics with all comments, counted anew; exit code 1 if any differs.

    Products that are behind on a leaderboard are moved.
    """
    mode, found, moved = asyncio.run(_verify(settings, read_units))
    if moved:
        typer.echo(f"{moved:,} places on leaderboards were behind their counts, and are moved now.")
    if not found:
        typer.echo(f"Table {settings.table}: the statistics equal a recount.")
        return
    Console().print(_grid(found))
    raise CommandError(
        f"The statistics of table {settings.table} are wrong: {_NEXT[mode]}", DIFFERS
    )


@options.of_store
def follow(
    *,
    analytics_url: options.AnalyticsUrl = None,
    metrics_port: options.MetricsPort = None,
    metrics_host: options.MetricsHost = options.DEFAULTS.metrics_host,
    settings: Settings,
) -> None:
    """Keep the statistics up with the table's stream until Ctrl-C; several may run.

    What 'marginalia analytics refresh' has filled is kept up too.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s: %(message)s")
    settings = replace(
        settings,
        analytics_url=analytics_url,
        metrics_port=metrics_port,
        metrics_host=metrics_host,
    )
    with followed(settings) as metrics:
        asyncio.run(_follow(settings, metrics))


async def _rebuild(
    settings: Settings, mode: MaintenanceMode | None, read_units: float | None
) -> MaintenanceMode:
    async with open_store(settings, share=True) as store:
        store.table.read_pace = Pace(read_units, reads=True)
        wanted = mode or (await MaintenanceStore(store.table).read()).mode
        async with _scanning(store) as (progress, seen):

            async def wait_for_writers() -> None:
                if not store.alone:
                    progress.say(f"Waiting {SETTLE_SECONDS:.0f} s until running servers take part.")
                    await asyncio.sleep(SETTLE_SECONDS)

            if wanted is MaintenanceMode.TRANSACTIONAL:
                await rebuild_transactional(store.table, wait_for_writers, seen)
                await _end_stream(store)
            else:
                from dal.maintenance.stream_rebuild import rebuild as rebuild_stream  # noqa: PLC0415 - see above

                async with connect_streams(store.connection) as streams:
                    await rebuild_stream(store.table, streams, wait_for_writers, seen)
    return wanted


async def _end_stream(store: Store) -> None:
    """Switch off the stream that was followed until now."""
    if latest_stream(await admin.describe(store.table)) is not None:
        from dal.maintenance.stream_rebuild import end  # noqa: PLC0415 - see above

        await end(store.table)


async def _verify(
    settings: Settings, read_units: float | None
) -> tuple[MaintenanceMode, list[Difference], int]:
    async with open_store(settings, share=True) as store:
        store.table.read_pace = Pace(read_units, reads=True)
        maintenance = await MaintenanceStore(store.table).read()
        async with _scanning(store) as (_, seen):
            boards = Boards(store.table)
            found = await verify_table(store.table, seen, boards)
    return maintenance.mode, found, boards.moved


@asynccontextmanager
async def _scanning(store: Store) -> AsyncIterator[tuple[ProgressBar, Progress]]:
    """Show how far a scan of the table is; the second takes note of how many items it has seen."""
    total = (await admin.describe(store.table))["ItemCount"] or None
    with ProgressBar(store.table.name, total) as progress:
        yield progress, lambda items: progress.update(items, f"{items:,} items seen")


async def _follow(settings: Settings, metrics: str | None) -> None:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - asyncio.run made it
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        async with open_store(settings, share=True) as store:
            await _follow_store(store, metrics)
    except asyncio.CancelledError:
        return


async def _follow_store(store: Store, metrics: str | None) -> None:
    from dal.stream.follower import caught_up, follow  # noqa: PLC0415 - see above

    if (await MaintenanceStore(store.table).read()).mode is MaintenanceMode.TRANSACTIONAL:
        raise CommandError(
            "The counters of this table are kept by the writes themselves: run `marginalia stats "
            "rebuild --mode stream` first if other programs write to it."
        )
    async with connect_streams(store.connection) as streams:
        reached = await caught_up(store.table)
        since = f"{reached:%Y-%m-%d %H:%M:%S} UTC"
        if metrics is not None:
            typer.echo(f"Metrics are at {metrics}.")
        typer.echo(f"Counting the changes of {store.place} since {since}. Ctrl-C ends.")
        following = asyncio.ensure_future(follow(store.table, streams))
        try:
            ends: list[asyncio.Future[Any]] = [following, store.died]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if store.died.done():
                raise CommandError(store.died.result(), UNAVAILABLE)
            await following
        finally:
            following.cancel()
            await asyncio.wait([following])


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
