"""``marginalia load``: rows of a file, of any format, into the table."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from dal.client.concurrency import Pace
from server.cli import options
from server.cli.loading import Loading
from server.cli.patience import maintenance
from server.errors import CommandError
from server.importer.column_mapping import make_column_mapping
from server.importer.file_kinds import FILE_KINDS, FileKindName
from server.importer.formats import FormatName
from server.importer.instants import DateUnit
from server.importer.opening import open_file
from server.importer.presets import Preset, find_preset, preset_names
from server.settings import Settings

_LAYOUT = "How the file is written"


@maintenance
@options.of_store
def load(
    file: Annotated[
        Path,
        typer.Argument(
            help="JSONL, CSV or XML, also packed by gzip or zstd, or Parquet; - is standard input."
        ),
    ],
    *,
    kind: Annotated[
        FileKindName | None,
        typer.Option(envvar="MARGINALIA_KIND", help="What the rows are; comments if not given."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_PRESET",
            metavar="NAME|FILE.toml",
            help=f"An export that is known: {', '.join(preset_names())}; or a file of your own. "
            "The other options come before what it says.",
        ),
    ] = None,
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
    id_from: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,COLUMN…",
            envvar="MARGINALIA_ID_FROM",
            help="Columns whose hash is the id, where no column is one.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            envvar="MARGINALIA_DRY_RUN",
            help="Read all of the file and say what would be loaded, lost and rejected; "
            "write nothing.",
        ),
    ] = False,
    rejects: Annotated[
        Path | None,
        typer.Option(
            envvar="MARGINALIA_REJECTS",
            help="Where bad rows go, with line and reason; FILE.rejects.jsonl if not given. "
            "Mended, this file loads itself, with the same options.",
        ),
    ] = None,
    write_units: options.WriteUnits = None,
    format_: Annotated[
        FormatName | None,
        typer.Option(
            "--format",
            envvar="MARGINALIA_FORMAT",
            rich_help_panel=_LAYOUT,
            help="Where the file's name does not tell.",
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_DELIMITER",
            rich_help_panel=_LAYOUT,
            help="Between cells of CSV: a character or tab; what the header uses if not given.",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_ENCODING",
            rich_help_panel=_LAYOUT,
            help="Such as latin-1, cp1252 or utf-16; UTF-8 if not given.",
        ),
    ] = None,
    date_unit: Annotated[
        DateUnit | None,
        typer.Option(
            envvar="MARGINALIA_DATE_UNIT",
            rich_help_panel=_LAYOUT,
            help="Of dates that are numbers; s if not given.",
        ),
    ] = None,
    date_format: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_DATE_FORMAT",
            rich_help_panel=_LAYOUT,
            help="Such as %m/%d/%Y; ISO 8601 and unix time if not given.",
        ),
    ] = None,
    settings: Settings,
) -> None:
    """Load the rows of a file; rows of an id that is there already replace it.

    Bad rows are set aside while the good ones load, and the exit code is 1, as where rows that
    differ have one id.

    Loading the same file again changes nothing.
    """
    given: dict[str, Any] = {
        "kind": kind,
        "delimiter": delimiter,
        "encoding": encoding,
        "date_unit": date_unit,
        "date_format": date_format,
    }
    chosen = replace(
        find_preset(preset), **{name: one for name, one in given.items() if one is not None}
    )
    maps, sets = map_ or [], set_ or []
    chosen = _identified(chosen, id_from, maps)
    mapping = make_column_mapping(FILE_KINDS[chosen.kind or "comments"], maps, sets, chosen)
    loading = Loading(settings, Pace(write_units), chosen, mapping, rejects, dry_run=dry_run)
    with open_file(file, chosen, mapping, format_) as opened:
        loading.load_file(file, opened)


def _identified(preset: Preset, id_from: str | None, maps: list[str]) -> Preset:
    """Return the preset with the columns of --id-from, in place of a column that is the id."""
    if id_from is None:
        return preset
    columns = [column.strip() for column in id_from.split(",")]
    if not all(columns):
        raise CommandError(f"--id-from {id_from!r} has an empty name: write it as a,b,c.")
    if any(pair.startswith("id=") for pair in maps):
        raise CommandError("id is given by --map and by --id-from: leave one of them out.")
    others = {name: column for name, column in preset.map.items() if name != "id"}
    return replace(preset, id_from=columns, map=others)
