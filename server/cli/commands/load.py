"""``marginalia load``: rows of a JSONL or CSV file into the table."""

import asyncio
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dal.errors import DalError
from server.cli import options
from server.engine.storage import open_table
from server.errors import CommandError
from server.importer.column_mapping import make_column_mapping
from server.importer.csv_rows import CsvRows
from server.importer.file_kinds import FILE_KINDS, FileKindName
from server.importer.jsonl import read_jsonl
from server.importer.rejects import rejects_file
from server.importer.run import SHOWN_REJECTS, Load, Tally
from server.importer.source import open_source
from server.progress import ProgressBar
from server.settings import Settings

FormatName = Literal["jsonl", "csv"]

_SUFFIXES: dict[str, FormatName] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
}
_INTERRUPTED = 130  # what shells expect of a program that Ctrl-C ended


@options.of_store
def load(
    file: Annotated[Path, typer.Argument(help="JSONL or CSV in UTF-8; - is standard input.")],
    *,
    kind: Annotated[
        FileKindName, typer.Option(envvar="MARGINALIA_KIND", help="What the rows are.")
    ] = "comments",
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=COLUMN",
            envvar="MARGINALIA_MAP",
            help="The column that holds a field, where their names differ; repeatable.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            envvar="MARGINALIA_SET",
            help="The value of a field in every row; repeatable.",
        ),
    ] = None,
    format_: Annotated[
        FormatName | None,
        typer.Option(
            "--format",
            envvar="MARGINALIA_FORMAT",
            help="Where the file's name does not tell.",
        ),
    ] = None,
    rejects: Annotated[
        Path | None,
        typer.Option(
            envvar="MARGINALIA_REJECTS",
            help="Where bad rows go, with line and reason; FILE.rejects.jsonl if not given. "
            "Mended, this file loads itself, with the same --map and --set.",
        ),
    ] = None,
    settings: Settings,
) -> None:
    """Load the rows of a file; rows of an id that is there already replace it.

    Bad rows are set aside while the good ones load, and the exit code is 1.

    Loading the same file again changes nothing.
    """
    mapping = make_column_mapping(FILE_KINDS[kind], map_ or [], set_ or [])
    written_in = format_ or _guess(file)
    with open_source(file) as source:
        if not source.lines.first:
            typer.echo(f"{source.name} is empty: 0 rows loaded.")
            return
        rows = CsvRows(source) if written_in == "csv" else read_jsonl(source)
        if isinstance(rows, CsvRows):
            mapping.check_header(source.name, rows.columns)
        work = Load(source, rows, mapping, rejects_file(rejects, file))
        _run(work, settings)
    _report(work)


def _guess(file: Path) -> FormatName:
    guess = _SUFFIXES.get(file.suffix.lower())
    if guess is None:
        raise CommandError(
            f"{file} does not tell its format by its name: add --format jsonl or csv."
        )
    return guess


def _run(work: Load[Any], settings: Settings) -> None:
    async def run() -> None:
        async with open_table(settings, share=True) as table:
            with ProgressBar(work.source.name, work.source.size) as progress:
                await work.run(work.mapping.kind.put(table), progress)

    tally = work.tally
    try:
        asyncio.run(run())
    except (DalError, CommandError) as error:
        if not tally.read:
            raise
        raise CommandError(f"{str(error).removesuffix('.')}; {_so_far(tally)}") from error
    except KeyboardInterrupt:
        typer.echo(f"marginalia: stopped; {_so_far(tally)}", err=True)
        raise typer.Exit(_INTERRUPTED) from None


def _so_far(tally: Tally) -> str:
    return f"{_rows(tally.written)} written for certain; running the same command again is safe."


def _report(work: Load[Any]) -> None:
    tally = work.tally
    if more := max(tally.rejected - SHOWN_REJECTS, 0):
        typer.echo(f"… and {_rows(more)} more.", err=True)
    if not tally.rejected:
        typer.echo(f"{work.source.name}: {_rows(tally.written)} loaded.")
        return
    typer.echo(
        f"{work.source.name}: {tally.written:,} of {_rows(tally.read)} loaded; "
        f"{tally.rejected:,} rejected, see {work.rejects.path}."
    )
    raise typer.Exit(1)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
