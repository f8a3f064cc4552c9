"""``marginalia export``: the store as files that ``load`` takes as they are."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from dal.client import admin
from dal.client.concurrency import Pace
from dal.client.scan import Progress
from server.cli import options
from server.cli.patience import maintenance
from server.engine.storage import Store, open_store
from server.errors import DIFFERS, CommandError
from server.exporter.export_files import export as export_to
from server.exporter.export_files import export_to_stdout
from server.exporter.manifest import Manifest, Target, directory_of, single_file
from server.exporter.row_kinds import ROW_KINDS, ExportKind, Format
from server.importer.losses import counted
from server.progress import ProgressBar
from server.settings import Settings

KindName = Literal["all", "comments", "orders", "organizations", "tickets", "profiles", "products"]

_STDOUT = Path("-")
_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
}


@maintenance
@options.of_store
def export(
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            envvar="MARGINALIA_OUTPUT",
            help="A directory, which gets a file of each kind; the file of one kind; or - for "
            "standard output.",
        ),
    ],
    kind: Annotated[
        KindName, typer.Option(envvar="MARGINALIA_KIND", help="What to export.")
    ] = "all",
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format",
            envvar="MARGINALIA_FORMAT",
            help="Where the file's name does not tell; JSONL if nothing does. Parquet needs "
            "`.venv/bin/pip install -c constraints.txt -e '.\\[analytics]'`.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", envvar="MARGINALIA_FORCE", help="Replace what is there.")
    ] = False,
    read_units: options.ReadUnits = None,
    settings: Settings,
) -> None:
    """Export what is stored to files that `marginalia load` takes as they are.

    Servers may go on writing: what was there all the time is in the files exactly once, what
    changed meanwhile in a state that it had. The files appear when all of them are whole.

    Exit code 1 if an item could not be read.
    """
    if output == _STDOUT:
        rows_of = _rows_of(kind, format_ or "jsonl")
        manifest = asyncio.run(_streamed(settings, rows_of, read_units))
    else:
        target = _target(output, kind, format_)
        manifest = asyncio.run(_exported(settings, target, read_units, force=force))
    _report(manifest, output)


def _target(output: Path, kind: KindName, format_: Format | None) -> Target:
    """Return the files to write: one in a directory for each kind, or the file of one kind."""
    if kind == "all":
        if output.suffix.lower() in _SUFFIXES and not output.is_dir():
            raise CommandError(
                f"{output} is called as one file, and all kinds need a directory: name one, or "
                "one kind with --kind."
            )
        return directory_of(output, list(ROW_KINDS), format_ or "jsonl")
    if output.is_dir():
        output /= f"{kind}.{format_ or 'jsonl'}"
    return single_file(output, kind, format_ or _SUFFIXES.get(output.suffix.lower(), "jsonl"))


def _rows_of(kind: KindName, format_: Format) -> tuple[ExportKind, Format]:
    if kind == "all":
        raise CommandError("Standard output takes one kind: name it with --kind.")
    if format_ == "parquet":
        raise CommandError("Parquet cannot be streamed: name a file with --output.")
    return kind, format_


async def _exported(
    settings: Settings, target: Target, read_units: float | None, *, force: bool
) -> Manifest:
    async with _opened(settings, read_units) as (store, seen):
        return await export_to(store.table, target, store.place, seen, force=force)


async def _streamed(
    settings: Settings, rows_of: tuple[ExportKind, Format], read_units: float | None
) -> Manifest:
    async with _opened(settings, read_units) as (store, seen):
        return await export_to_stdout(store.table, store.place, rows_of, sys.stdout.buffer, seen)


@asynccontextmanager
async def _opened(
    settings: Settings, read_units: float | None
) -> AsyncIterator[tuple[Store, Progress]]:
    """Open the store, and show how far its scan is, which keeps to some RCU a second."""
    # An export needs no index: it also reads a table that `table upgrade` cannot upgrade.
    async with open_store(settings, share=True, usable=False) as store:
        store.table.read_pace = Pace(read_units, reads=True)
        total = (await admin.describe(store.table))["ItemCount"] or None
        with ProgressBar(store.table.name, total) as progress:
            yield store, lambda items: progress.update(items, f"{items:,} items read")


def _report(manifest: Manifest, output: Path) -> None:
    counts = ", ".join(f"{one.rows:,} {kind}" for kind, one in manifest.files.items())
    place = "standard output" if output == _STDOUT else output
    period = f"from {manifest.begun} to {manifest.ended}"
    typer.echo(f"{place}: {counts}, as they were in the time {period}.", err=output == _STDOUT)
    if manifest.unreadable:
        hold = "holds" if manifest.unreadable == 1 else "hold"
        raise CommandError(
            f"{counted(manifest.unreadable, 'item')} under keys of ours {hold} nothing that can be "
            "read: not exported.",
            DIFFERS,
        )
