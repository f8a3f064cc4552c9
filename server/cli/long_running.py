"""Shared by long commands: the limits of their capacity, waits during an outage, and progress."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Annotated, Any

import typer

from dal.client import admin
from dal.client.retries import Patience, patient
from dal.client.scan import Progress
from dal.errors import DalError
from dal.statistics.mode import SETTLE_SECONDS
from server.engine.storage import Store
from server.errors import INTERRUPTED
from server.progress import ProgressBar

WriteUnits = Annotated[
    float | None,
    typer.Option(
        "--write-units",
        min=1,
        metavar="N",
        help="Write capacity units that the command may consume in a second, by DynamoDB's "
        "answers. Default: no limit.",
    ),
]

ReadUnits = Annotated[
    float | None,
    typer.Option(
        "--read-units",
        min=1,
        metavar="N",
        help="Read capacity units that the scan may consume in a second, by DynamoDB's answers. "
        "Default: no limit.",
    ),
]


def long_running(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command wait without a limit for the store, after the store has answered once.

    A waiting command prints a line every ten seconds. Ctrl-C ends it.
    """

    @wraps(command)
    def waiting(**given: Any) -> None:
        try:
            with patient(Patience(_report_wait)):
                command(**given)
        except KeyboardInterrupt:
            typer.echo("marginalia: stopped; run the same command again.", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return waiting


def _report_wait(seconds: float, error: DalError) -> None:
    typer.echo(
        f"Waiting for the store for {seconds:.0f} s. {error} Press Ctrl-C to stop; run the same "
        "command again later.",
        err=True,
    )


@asynccontextmanager
async def scanning(store: Store, done: str = "seen") -> AsyncIterator[tuple[ProgressBar, Progress]]:
    """Show the progress bar of a scan.

    The second value is a function that receives numbers of items.
    """
    total = (await admin.describe(store.table))["ItemCount"] or None
    with ProgressBar(store.table.name, total) as progress:
        yield progress, lambda items: progress.update(items, f"{items:,} items {done}")


def writers_settled(store: Store, progress: ProgressBar) -> Callable[[], Awaitable[None]]:
    """Return a function that waits until every running server has read the maintenance mode."""

    async def wait() -> None:
        if not store.alone:
            progress.say(f"Waiting {SETTLE_SECONDS:.0f} s until running servers take part.")
            await asyncio.sleep(SETTLE_SECONDS)

    return wait
