"""``marginalia load``: writes the rows of a file to the table, or only checks them."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dal.dynamodb.concurrency import Pace
from dal.kinds.field_parsers import DateUnit
from dal.kinds.item_kind import ItemKind, Put
from dal.table.errors import DalError
from features.loading.column_mapping import (
    FormatName,
    find_preset,
    listed,
    make_column_mapping,
    preset_names,
)
from features.loading.export_rows import Layout
from features.loading.kind import COMMENTS, files_of
from features.loading.losses import Losses
from features.loading.opening import open_file
from features.loading.rows import RejectsFile, rejects_file
from features.loading.run import SHOWN_REJECTS, Load
from features.loading.writer import DryRun
from server.cli.long_running import WriteUnits, long_running
from server.cli.options import STORE, takes
from server.errors import INTERRUPTED, CommandError, exit_code
from server.local_engine.storage import open_store
from server.progress import ProgressBar
from server.sentences import counted
from server.settings import Settings

_layout = partial(typer.Option, rich_help_panel="Layout of the file")
_NO_REJECTS = Path("/dev/null")


def _kind(kinds: Sequence[ItemKind]) -> Any:
    names = tuple(files_of(kinds))
    shown = f"Kind of the rows: {', '.join(names)}. Default: comments."
    # Typer takes the choices of an option from its type.
    return Annotated[Literal[names] | None, typer.Option(metavar="KIND", help=shown)]


@long_running
@takes(*STORE)
def load(
    file: Annotated[
        Path,
        typer.Argument(
            help="File in JSONL, CSV, XML or Parquet. All except Parquet may be compressed by gzip "
            "or zstd. - means standard input."
        ),
    ],
    *,
    kind: Annotated[str | None, _kind] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE.toml",
            help=f"Predefined options for files of another program: {', '.join(preset_names())}; "
            "or your own TOML file with options. Other options of the command take precedence.",
        ),
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=COLUMN",
            help="Column that contains a field, if their names differ. Repeatable.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Value of a field in every row. Repeatable.",
        ),
    ] = None,
    id_from: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,COLUMN…",
            help="Columns that are hashed into an id, if the file has no column with ids.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Write nothing, but read the whole file, and report what a load would write, drop "
            "and reject.",
        ),
    ] = False,
    rejects: Annotated[
        Path | None,
        typer.Option(
            help="File for rejected rows, with line numbers and reasons. Fix the rows there, then "
            "load this file with the same options. Default: FILE.rejects.jsonl.",
        ),
    ] = None,
    write_units: WriteUnits = None,
    format_: Annotated[
        FormatName | None,
        _layout(
            "--format",
            help="Format of the file. Default: the file's name decides.",
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        _layout(
            help="Character between the cells of CSV, or the word tab. Default: the character that "
            "splits the header into the most columns.",
        ),
    ] = None,
    quote: Annotated[
        Literal["none"] | None,
        _layout(
            help="none: quotes in CSV are ordinary characters. Default: they enclose cells.",
        ),
    ] = None,
    skip_lines: Annotated[
        int | None,
        _layout(
            min=0,
            help="Number of lines before the header of CSV, or before the first row of JSONL.",
        ),
    ] = None,
    html: Annotated[
        bool | None,
        _layout(
            "--html/--no-html",
            help="Whether texts, titles and names are HTML: then store their text without tags. "
            "Default: no.",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        _layout(
            help="Encoding of the text, such as latin-1, cp1252 or utf-16. Default: UTF-8.",
        ),
    ] = None,
    date_unit: Annotated[
        DateUnit | None,
        _layout(
            help="Unit of dates that are Unix times. Default: s, for the years 1971 to 2099.",
        ),
    ] = None,
    date_format: Annotated[
        str | None,
        _layout(
            help="Format of dates, such as %m/%d/%Y. Default: ISO 8601 or Unix time.",
        ),
    ] = None,
    settings: Settings,
    kinds: Sequence[ItemKind],
) -> None:
    """Load the rows of a file. A row replaces the stored row with the same id.

    The command loads all valid rows, and writes invalid rows to another file. The exit code is 1
    if a row is invalid, or if the file has different rows with the same id.

    You may load a file again: a row that equals the stored row changes nothing.
    """
    given: dict[str, Any] = {
        "kind": kind,
        "delimiter": delimiter,
        "quote": quote,
        "skip_lines": skip_lines,
        "html": html,
        "encoding": encoding,
        "date_unit": date_unit,
        "date_format": date_format,
    }
    files = files_of(kinds)
    chosen = replace(
        find_preset(preset, files), **{name: one for name, one in given.items() if one is not None}
    )
    maps, sets = map_ or [], set_ or []
    if id_from is not None:  # --id-from replaces the preset's column of ids.
        columns = [column.strip() for column in id_from.split(",")]
        if not all(columns):
            raise CommandError(
                f"--id-from {id_from!r} has an empty column name: separate names as in a,b,c."
            )
        if any(pair.startswith("id=") for pair in maps):
            raise CommandError("--map and --id-from both define the id: remove one of them.")
        others = {name: column for name, column in chosen.map.items() if name != "id"}
        chosen = replace(chosen, id_from=columns, map=others)
    mapping = make_column_mapping(files[chosen.kind or COMMENTS.name], maps, sets, chosen)
    with open_file(file, mapping, format_) as opened:
        if opened.empty:
            typer.echo(f"{opened.source.name} is empty: 0 rows loaded.")
            return
        rejected = RejectsFile(_NO_REJECTS) if dry_run else rejects_file(rejects, file)
        rehearsal = DryRun() if dry_run else None
        with closing(Losses(mapping)) as losses:
            rows = losses.kept(opened.rows)
            work = Load(opened.source, rows, mapping, rejected, note=losses.loaded)
            try:
                asyncio.run(_load(work, rehearsal, settings, write_units))
            except (DalError, CommandError) as error:
                if not work.read or dry_run:
                    raise
                sentence = f"{str(error).removesuffix('.')}; {_written(work)}"
                raise CommandError(sentence, exit_code(error)) from error
            except KeyboardInterrupt:
                written = "" if dry_run else f"; {_written(work)}"
                typer.echo(f"marginalia: stopped{written}", err=True)
                raise typer.Exit(INTERRUPTED) from None
            _report(work, losses, rehearsal)
            if work.rejected or losses.shared:
                raise typer.Exit(1)


async def _load(
    work: Load[Any], rehearsal: DryRun | None, settings: Settings, write_units: float | None
) -> None:
    """Write all rows to the table. In a dry run, pass them to ``rehearsal``, which stores none."""
    async with AsyncExitStack() as opened:
        put: Put[Any]
        if rehearsal is not None:
            put = rehearsal.put
        else:
            store = await opened.enter_async_context(open_store(settings, share=True, create=True))
            store.table.pace = Pace(write_units)
            put = work.mapping.kind.put(store.stores)
        with ProgressBar(work.source.name, work.source.size) as progress:
            await work.run(put, progress)


def _report(work: Load[Any], losses: Losses, rehearsal: DryRun | None) -> None:
    if more := max(work.rejected - SHOWN_REJECTS, 0):
        typer.echo(f"… and {counted(more, 'row')} more.", err=True)
    if rehearsal is not None:
        layout, kind = Layout("jsonl", all_states=True), work.mapping.kind
        typer.echo(layout.encode(kind, rehearsal.first).decode(), nl=False)
        rows = counted(work.outcome.total, "row")
        summary = f"{rows} would be loaded, {work.rejected:,} would be rejected"
    else:
        new, changed, unchanged, _ = work.outcome
        see = f", see {work.rejects.path}" if work.rejected else ""
        summary = (
            f"{new:,} new, {changed:,} changed, {unchanged:,} unchanged, "
            f"{work.rejected:,} rejected{see}"
        )
    unused = f"; columns not used: {listed(losses.unused)}" if losses.unused else ""
    typer.echo(f"{work.source.name}: {summary}{unused}.")
    for sentence in losses.sentences():
        typer.echo(sentence)


def _written(work: Load[Any]) -> str:
    rows = counted(work.outcome.total, "row")
    return f"at least {rows} written. You can run the same command again."
