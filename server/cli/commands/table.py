"""``marginalia table``: creates, upgrades and describes the table."""

import json
from typing import Annotated, Any

import typer
from rich.table import Table as Grid

from dal.composition import DESCRIPTIONS
from dal.counts.mode import MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.concurrency import Pace
from dal.entities import INDEXES
from dal.maintenance.tables import IndexProgress, create_table
from dal.maintenance.tables import upgrade as upgrade_table
from dal.table.definition import differences, listed
from server.cli.console import console
from server.cli.long_running import WriteUnits, long_running, scanning, writers_settled
from server.cli.options import STORE, takes
from server.local_engine.storage import open_store
from server.progress import ProgressBar
from server.settings import Settings

__all__ = ["create", "describe", "upgrade"]

_EXPIRES = "Expiry is on: DynamoDB deletes expired items, such as tombstones of deleted comments."
_KEPT = "Expiry is off: expired items stay. To switch it on, run `marginalia table create`."
_UPGRADING = "An upgrade is not finished: run `marginalia table upgrade` again."
_COPIED = (
    "The table is a copy of another table, for example a restored backup. Its statistics may be "
    "wrong. Run `marginalia stats rebuild`."
)


@long_running
@takes(*STORE)
async def create(settings: Settings) -> None:
    """Create the table with its indexes. An existing table keeps its rows and indexes.

    In an existing table, the command switches on the expiry of items, and records whether the
    statistics count all comments. If the command is interrupted, run it again. You do not need the
    command for the embedded engine, which creates its table itself.
    """
    async with open_store(settings, share=True, create=True, usable=False) as store:
        made = store.created or await create_table(store.table)
    typer.echo(
        f"Table {settings.table} is ready."
        if made
        else f"Table {settings.table} already exists and was not changed."
    )


@long_running
@takes(*STORE)
async def upgrade(*, write_units: WriteUnits = None, settings: Settings) -> None:
    """Upgrade a table of an older version. Servers of that version may run meanwhile.

    The command adds missing indexes, one after the other. It also adds missing keys to items,
    replaces outdated keys and languages, and switches on the expiry of items. If the command is
    interrupted, run it again. If the upgrade needs a change that DynamoDB does not support, the
    command names the change and stops before it changes anything.
    """
    async with open_store(settings, share=True, usable=False) as store:
        store.table.pace = Pace(write_units)
        async with scanning(store) as (progress, seen):
            done = await upgrade_table(
                store.table,
                index_progress=_changes_of(progress),
                scan_progress=seen,
                wait_for_writers=writers_settled(store, progress),
            )
    typer.echo(
        f"Table {settings.table} fits this version. {len(done.indexes)} indexes were added, and "
        f"keys were added to or changed in {done.items:,} items."
    )
    if done.uncounted:
        typer.echo("Not all comments of the table are counted. Run `marginalia stats rebuild`.")


@long_running
@takes(*STORE)
async def describe(
    *,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the response of DescribeTable as JSON."),
    ] = False,
    settings: Settings,
) -> None:
    """Print the table's keys and indexes and its number of items."""
    async with open_store(settings, share=True, usable=False) as store:
        maintenance = await MaintenanceStore(store.table).read()
        description = await admin.describe(store.table)
        expires = await admin.expires(store.table)
    if as_json:
        typer.echo(json.dumps(description, indent=2, default=str))
        return
    console().print(_grid(description))
    typer.echo(_EXPIRES if expires else _KEPT)
    for described in DESCRIPTIONS:
        typer.echo(described(description, maintenance))
    if lacking := differences(description, INDEXES).lacking:
        typer.echo(f"The table lacks {listed(lacking)}: run `marginalia table upgrade`.")
    if maintenance.upgrading:
        typer.echo(_UPGRADING)
    if maintenance.copied:
        typer.echo(_COPIED)


def _changes_of(progress: ProgressBar) -> IndexProgress:
    """Return a function that prints the state of an index when the state changes."""
    printed: dict[str, str] = {}

    def show(name: str, words: str) -> None:
        if printed.get(name) != words:
            progress.say(f"{name}: {words}")
        printed[name] = words

    return show


def _grid(description: dict[str, Any]) -> Grid:
    grid = Grid(
        title=f"Table {description['TableName']}: {description['TableStatus'].lower()}, "
        f"{description['ItemCount']:,} items",
        caption="Amazon DynamoDB counts items about every six hours.",
    )
    for heading in ("Index", "Partition key", "Sort key", "Projects"):
        grid.add_column(heading)
    grid.add_row("(table)", *_keys(description), "everything")
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        for index in description.get(kind, []):
            grid.add_row(index["IndexName"], *_keys(index), _projection(index["Projection"]))
    return grid


def _keys(part: dict[str, Any]) -> list[str]:
    return [key["AttributeName"] for key in part["KeySchema"]]


def _projection(projection: dict[str, Any]) -> str:
    if projection["ProjectionType"] == "ALL":
        return "everything"
    return ", ".join(["keys", *projection.get("NonKeyAttributes", [])])
