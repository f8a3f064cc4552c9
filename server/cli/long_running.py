"""Functions for long commands: limits of capacity, waits for the store, and progress bars."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Annotated, Any

import typer

from dal.counts.mode import SETTLE_SECONDS
from dal.dynamodb import admin
from dal.dynamodb.retries import Patience, patient
from dal.dynamodb.scan import Progress
from dal.table.errors import DalError
from server.errors import INTERRUPTED
from server.local_engine.storage import Store
from server.progress import ProgressBar

WriteUnits = Annotated[
    float | None,
    typer.Option(
        "--write-units",
        min=1,
        metavar="N",
        help="Maximum write capacity units per second that the command consumes. "
        "Default: no limit.",
    ),
]

ReadUnits = Annotated[
    float | None,
    typer.Option(
        "--read-units",
        min=1,
        metavar="N",
        help="Maximum read capacity units per second that the scan consumes. Default: no limit.",
    ),
]


def long_running(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that waits for the store if the store stops answering.

    The command waits without a limit, but only if the store has answered at least once. It
    prints a line every ten seconds. Ctrl-C ends the command.
    """

    @wraps(command)
    def waiting(**given: Any) -> None:
        try:
            with patient(Patience(_report_wait)):
                command(**given)
        except KeyboardInterrupt:
            typer.echo("marginalia: stopped. To continue, run the same command again.", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return waiting


def _report_wait(seconds: float, error: DalError) -> None:
    typer.echo(
        f"Still waiting for the store, after {seconds:.0f} s. {error} To stop, press Ctrl-C, and "
        "run the same command again later.",
        err=True,
    )


@asynccontextmanager
async def scanning(store: Store, done: str = "seen") -> AsyncIterator[tuple[ProgressBar, Progress]]:
    """Show the progress bar of a scan. Yield the bar and a function that updates it.

    The scan calls the function with the number of items that it has read. The bar shows this number
    and the text in ``done``. For example, ``1,200 items seen`` if ``done`` is ``seen``.
    """
    total = (await admin.describe(store.table))["ItemCount"] or None
    with ProgressBar(store.table.name, total) as progress:
        yield progress, lambda items: progress.update(items, f"{items:,} items {done}")


def writers_settled(store: Store, progress: ProgressBar) -> Callable[[], Awaitable[None]]:
    """Return a function that waits until all running servers know of this command.

    A command that servers must take into account first announces itself in an item of the table.
    Servers cache this item for some seconds, so some of their writes still ignore the announcement.
    The command calls the function to wait until all such writes have ended. If the command runs the
    embedded engine itself, the function does not wait, because no server is running.
    """

    async def wait() -> None:
        if not store.alone:
            progress.say(
                f"Waiting {SETTLE_SECONDS:.0f} s until all running servers know of this command."
            )
            await asyncio.sleep(SETTLE_SECONDS)

    return wait
