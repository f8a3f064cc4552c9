"""``marginalia table``: makes the table, and shows what there is of it."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from dal.client import admin
from dal.client.concurrency import Pace
from dal.client.streams import latest_stream
from dal.entities import INDEXES
from dal.maintenance.tables import IndexProgress, Upgraded, create_table
from dal.maintenance.tables import upgrade as upgrade_table
from dal.statistics.mode import (
    SETTLE_SECONDS,
    Maintenance,
    MaintenanceStore,
)
from dal.table.definition import differences, listed
from server.cli import options
from server.cli.patience import maintenance
from server.cli.workbench import sample_items, workbench_model
from server.engine.storage import open_store
from server.progress import ProgressBar
from server.settings import Settings

__all__ = ["create", "describe", "upgrade", "workbench"]

_EXPIRES = "Expiry is on: DynamoDB deletes records whose time is over."
_KEPT = "Expiry is off, so records of requests pile up: run `marginalia table create`."
_UPGRADING = "An upgrade is not done: `marginalia table upgrade` goes on with it."
_STREAM = "The stream of changes is on."
_COPIED = (
    "It is a copy (a restored backup, an import) of the table whose comments were counted: no "
    "count is certain before `marginalia stats rebuild`."
)
_NO_STREAM = "The stream of changes is off; only counts in stream mode need it."


@maintenance
@options.of_store
def create(
    *,
    settings: Settings,
) -> None:
    """Create the table with its indexes; an existing one is left as it is.

    What an interrupted command left undone is done when it is run again.

    The embedded engine's table needs no such step: it is created when it is first opened.
    """
    made = asyncio.run(_create(settings))
    typer.echo(
        f"Table {settings.table} is created."
        if made
        else f"Table {settings.table} exists already; nothing was changed."
    )


@maintenance
@options.of_store
def upgrade(
    *,
    write_units: options.WriteUnits = None,
    settings: Settings,
) -> None:
    """Bring the table of an older version up to this one; servers of that version may go on.

    Adds the indexes that it lacks, one at a time, lets records expire, and gives items the keys
    that they lack. Interrupted, it is begun again with the same command. Where DynamoDB cannot
    change what would have to be changed it says so, and changes nothing.
    """
    done = asyncio.run(
        _upgrade(
            settings,
            write_units,
        )
    )
    typer.echo(
        f"Table {settings.table} is what this version reads: {len(done.indexes)} indexes added, "
        f"{done.items:,} items given keys."
    )
    if done.uncounted:
        typer.echo("Its comments are not all counted: run `marginalia stats rebuild`.")


@maintenance
@options.of_store
def describe(
    *,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", envvar="MARGINALIA_JSON", help="Print DescribeTable's answer as JSON."
        ),
    ] = False,
    settings: Settings,
) -> None:
    """Show the table's keys and indexes and how many items it holds."""
    description, expires, maintenance = asyncio.run(_describe(settings))
    if as_json:
        typer.echo(json.dumps(description, indent=2, default=str))
        return
    Console().print(_grid(description))
    typer.echo(_EXPIRES if expires else _KEPT)
    typer.echo(_STREAM if latest_stream(description) else _NO_STREAM)
    if lacking := differences(description, INDEXES).lacking:
        typer.echo(f"It lacks {listed(lacking)}: run `marginalia table upgrade`.")
    if maintenance.upgrading:
        typer.echo(_UPGRADING)
    if maintenance.copied:
        typer.echo(_COPIED)


def workbench(*, table: options.TableName = options.DEFAULTS.table) -> None:
    """Print the table's data model for NoSQL Workbench, with samples of each kind of item.

    Import the file there to see the table and its indexes; it asks no engine and no AWS account.
    """
    model = workbench_model(table, sample_items(), datetime.now(UTC))
    typer.echo(json.dumps(model, indent=2, ensure_ascii=False))


async def _create(settings: Settings) -> bool:
    async with open_store(settings, share=True, usable=False) as store:
        return store.created or await create_table(store.table)


async def _upgrade(settings: Settings, write_units: float | None) -> Upgraded:
    async with open_store(settings, share=True, usable=False) as store:
        store.table.pace = Pace(write_units)
        total = (await admin.describe(store.table))["ItemCount"] or None
        with ProgressBar(store.table.name, total) as progress:

            async def wait_for_writers() -> None:
                if not store.alone:
                    progress.say(f"Waiting {SETTLE_SECONDS:.0f} s until running servers take part.")
                    await asyncio.sleep(SETTLE_SECONDS)

            return await upgrade_table(
                store.table,
                index_progress=_changes_of(progress),
                scan_progress=lambda items: progress.update(items, f"{items:,} items seen"),
                wait_for_writers=wait_for_writers,
            )


def _changes_of(progress: ProgressBar) -> IndexProgress:
    """Return what prints how far each index is, whenever that is something new."""
    told: dict[str, str] = {}

    def tell(name: str, words: str) -> None:
        if told.get(name) != words:
            progress.say(f"{name}: {words}")
        told[name] = words

    return tell


async def _describe(settings: Settings) -> tuple[dict[str, Any], bool, Maintenance]:
    async with open_store(settings, share=True, usable=False) as store:
        maintenance = await MaintenanceStore(store.table).read()
        return await admin.describe(store.table), await admin.expires(store.table), maintenance


def _grid(description: dict[str, Any]) -> Grid:
    indexes = [
        *description.get("LocalSecondaryIndexes", []),
        *description.get("GlobalSecondaryIndexes", []),
    ]
    grid = Grid(
        title=f"Table {description['TableName']}: {description['TableStatus'].lower()}, "
        f"{description['ItemCount']:,} items",
        caption="Amazon DynamoDB counts items about every six hours.",
    )
    for heading in ("Index", "Partition key", "Sort key", "Shows"):
        grid.add_column(heading)
    grid.add_row("(table)", *_keys(description), "everything")
    for index in indexes:
        grid.add_row(index["IndexName"], *_keys(index), _projection(index["Projection"]))
    return grid


def _keys(part: dict[str, Any]) -> list[str]:
    return [key["AttributeName"] for key in part["KeySchema"]]


def _projection(projection: dict[str, Any]) -> str:
    if projection["ProjectionType"] == "ALL":
        return "everything"
    return ", ".join(["keys", *projection.get("NonKeyAttributes", [])])
