"""``marginalia export``: writes the stored rows to files that ``marginalia load`` reads."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from dal.client.concurrency import Pace
from dal.client.scan import Progress
from server.cli.long_running import ReadUnits, long_running, scanning
from server.cli.options import STORE, takes
from server.engine.storage import Store, open_store
from server.errors import DIFFERS, CommandError
from server.exporter.export_files import export as export_to
from server.exporter.export_files import export_to_stdout
from server.exporter.manifest import Manifest, Target, directory_of, single_file
from server.exporter.row_kinds import ROW_KINDS, ExportKind, Format
from server.importer.losses import counted
from server.settings import Settings

KindName = Literal["all", "comments", "orders", "organizations", "tickets", "profiles", "products"]

_STDOUT = Path("-")
_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
}


@long_running
@takes(*STORE)
def export(
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Directory for a file of each kind, file for one kind, or - for standard output.",
        ),
    ],
    kind: Annotated[KindName, typer.Option(help="Kind of rows to export.")] = "all",
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="Format of the files. Default: by the ending of the file's name, else jsonl. "
            "Parquet needs `.venv/bin/pip install -c constraints.txt -e '.[analytics]'`.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    read_units: ReadUnits = None,
    settings: Settings,
) -> None:
    """Export rows to files that 'marginalia load' reads without further options.

    Servers may write meanwhile. A row that exists during the whole export is in the files exactly
    once. A row that changes is there in one of its states, or missing if it was added or deleted.
    The files appear when all of them are complete.

    Exit code 1 if an item could not be read.
    """
    if output == _STDOUT:
        if kind == "all":
            raise CommandError("Standard output takes one kind: choose it with --kind.")
        if format_ == "parquet":
            raise CommandError(
                "Parquet cannot be streamed to standard output: name a file with --output."
            )
        manifest = asyncio.run(_streamed(settings, (kind, format_ or "jsonl"), read_units))
    else:
        target = _target(output, kind, format_)
        manifest = asyncio.run(_exported(settings, target, read_units, force=force))
    _report(manifest, output)


def _target(output: Path, kind: KindName, format_: Format | None) -> Target:
    """Return the files to write: one for each kind in a directory, or the file of one kind."""
    if kind == "all":
        if output.suffix.lower() in _SUFFIXES and not output.is_dir():
            raise CommandError(
                f"{output} is the name of one file, and all kinds need a directory: name a "
                "directory, or one kind with --kind."
            )
        return directory_of(output, list(ROW_KINDS), format_ or "jsonl")
    if output.is_dir():
        output /= f"{kind}.{format_ or 'jsonl'}"
    return single_file(output, kind, format_ or _SUFFIXES.get(output.suffix.lower(), "jsonl"))


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
    """Open the store for a scan that shows its progress and keeps to ``read_units`` a second."""
    # An export needs no index: it also reads a table that `table upgrade` cannot upgrade.
    async with open_store(settings, share=True, usable=False) as store:
        store.table.read_pace = Pace(read_units, reads=True)
        async with scanning(store, "read") as (_, seen):
            yield store, seen


def _report(manifest: Manifest, output: Path) -> None:
    counts = ", ".join(f"{one.rows:,} {kind}" for kind, one in manifest.files.items())
    place = "standard output" if output == _STDOUT else output
    period = f"from {manifest.begun} to {manifest.ended}"
    typer.echo(f"{place}: {counts}, as they were {period}.", err=output == _STDOUT)
    if manifest.unreadable:
        raise CommandError(
            f"{counted(manifest.unreadable, 'item')} with keys of this program could not be read: "
            "not exported.",
            DIFFERS,
        )
