"""``marginalia stats``: rebuilds, verifies and updates the statistics.

Functions import the modules for streams only when they need them, so that other commands start
faster.
"""

import asyncio
import logging
import signal
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.table import Table as Grid

from dal.composition import CORRECTIONS
from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.concurrency import Pace
from dal.dynamodb.table import connect_streams
from dal.maintenance.rebuild import rebuild as rebuild_transactional
from dal.maintenance.verify import Difference
from dal.maintenance.verify import verify as verify_table
from features.stream_counting.streams import latest_stream
from server.cli.console import console
from server.cli.long_running import ReadUnits, long_running, scanning, writers_settled
from server.cli.options import STORE, takes
from server.errors import DIFFERS, UNAVAILABLE, CommandError
from server.local_engine.storage import Store, open_store
from server.observability.exposition import followed
from server.settings import Settings

SHOWN = 100
"""Maximum number of differences that ``verify`` prints."""

_NEXT = {
    MaintenanceMode.TRANSACTIONAL: "run `marginalia stats rebuild`, which is safe while servers "
    "run.",
    MaintenanceMode.STREAM: "if `marginalia stats follow` has not applied all changes yet, wait "
    "and verify again. Otherwise run `marginalia stats rebuild`.",
}
_KEPT_BY = {
    MaintenanceMode.TRANSACTIONAL: "the servers' own writes update them",
    MaintenanceMode.STREAM: "`marginalia stats follow` or the Lambda function updates them",
}


@long_running
@takes(*STORE)
async def rebuild(
    *,
    mode: Annotated[
        MaintenanceMode | None,
        typer.Option(
            help="What updates the counters from now on. transactional: the servers' own writes. "
            "stream: 'marginalia stats follow' or the Lambda function. Choose stream if other "
            "programs write to the table. Default: no change.",
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
        wanted = mode or (await MaintenanceStore(store.table).read()).mode
        async with scanning(store) as (progress, seen):
            wait_for_writers = writers_settled(store, progress)
            if wanted is MaintenanceMode.TRANSACTIONAL:
                await rebuild_transactional(store.table, wait_for_writers, seen)
                if latest_stream(await admin.describe(store.table)) is not None:
                    from features.stream_counting.rebuild import end  # noqa: PLC0415 - see the module's docstring

                    await end(store.table)
            else:
                from features.stream_counting.rebuild import (  # noqa: PLC0415 - see the module's docstring
                    rebuild as rebuild_stream,
                )

                async with connect_streams(store.connection) as streams:
                    await rebuild_stream(store.table, streams, wait_for_writers, seen)
    typer.echo(
        f"Table {settings.table}: the statistics are exact. From now on, {_KEPT_BY[wanted]}."
    )


@long_running
@takes(*STORE)
async def verify(*, read_units: ReadUnits = None, settings: Settings) -> None:
    """Count all comments and compare the result with the statistics.

    The exit code is 1 if the statistics are wrong. The command does not correct them. But it
    corrects the ranks on leaderboards, the numbers of helpful votes, the moderators' queue of
    reported comments, and the records by which servers allow only one comment per person. It also
    removes reports and votes of deleted comments.
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
    raise CommandError(
        f"The statistics of table {settings.table} are wrong: {_NEXT[mode]}", DIFFERS
    )


@takes(*STORE, "metrics_port", "metrics_host")
async def follow(settings: Settings) -> None:
    """Update the statistics from the table's stream until you press Ctrl-C.

    Run 'marginalia stats rebuild --mode stream' once before this command. You may run this command
    on several machines.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s: %(message)s")
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - asyncio.run runs this coroutine in a task
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with followed(settings) as metrics, suppress(asyncio.CancelledError):
        async with open_store(settings, share=True) as store:
            await _follow(store, metrics)


async def _follow(store: Store, metrics: str | None) -> None:
    from features.stream_counting import follower  # noqa: PLC0415 - see the module's docstring

    if (await MaintenanceStore(store.table).read()).mode is MaintenanceMode.TRANSACTIONAL:
        raise CommandError(
            "The servers' own writes update the counters of this table. If other programs write to "
            "it, run `marginalia stats rebuild --mode stream` first."
        )
    async with connect_streams(store.connection) as streams:
        reached = await follower.caught_up(store.table)
        since = f"{reached:%Y-%m-%d %H:%M:%S} UTC"
        if metrics is not None:
            typer.echo(f"Metrics are at {metrics}.")
        typer.echo(f"Counting the changes of {store.place} since {since}. Press Ctrl-C to stop.")
        following = asyncio.ensure_future(follower.follow(store.table, streams))
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
