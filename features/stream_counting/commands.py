"""``marginalia stats follow``: updates the statistics from the table's stream."""

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from dal.counts.mode import MaintenanceStore
from features.stream_counting.kind import KIND
from features.stream_counting.streams import connect_streams
from server.cli.options import STORE, takes
from server.errors import CommandError
from server.local_engine.storage import open_store
from server.observability.exposition import check_packages, exposed
from server.settings import Settings


@takes(*STORE, "metrics_port", "metrics_host")
async def follow(settings: Settings) -> None:
    """Update the statistics from the table's stream until you press Ctrl-C.

    Run 'marginalia stats rebuild --mode stream' once before this command. You may run this command
    on several machines.
    """
    from features.stream_counting import follower  # noqa: PLC0415 - other commands start faster

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s: %(message)s")
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - asyncio.run runs this coroutine in a task
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with followed(settings) as metrics, suppress(asyncio.CancelledError):
        async with open_store(settings, share=True) as store:
            if (await MaintenanceStore(store.table).read()).counts_in_writes:
                raise CommandError(
                    "The servers' own writes update the counters of this table. If other programs "
                    "write to it, run `marginalia stats rebuild --mode stream` first."
                )
            async with connect_streams(store.connection) as streams:
                since = f"{await follower.caught_up(store.table):%Y-%m-%d %H:%M:%S} UTC"
                if metrics is not None:
                    typer.echo(f"Metrics are at {metrics}.")
                typer.echo(
                    f"Counting the changes of {store.place} since {since}. Press Ctrl-C to stop."
                )
                await follower.follow(store.table, streams)


@contextmanager
def followed(settings: Settings) -> Iterator[str | None]:
    """Serve the metrics of ``stats follow`` in the ``with`` block, if the settings enable them.

    Yield the URL, or None.
    """
    check_packages(settings)
    with exposed(settings) as url:
        if url is None:
            yield None
            return
        from features.stream_counting.follower_metrics import following  # noqa: PLC0415 - an extra
        from server.observability.metrics import Metrics  # noqa: PLC0415 - an extra

        with following(Metrics(KIND.labels)):
            yield url
