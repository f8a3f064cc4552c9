"""``marginalia export``: writes the stored rows to files that ``marginalia load`` reads."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dal.dynamodb.concurrency import Pace
from dal.kinds.item_kind import ItemKind
from features.loading.export_files import Target, directory_of, export_to_stdout, single_file
from features.loading.export_files import export as export_to
from features.loading.export_rows import Format, Layout
from features.loading.kind import files_of, with_file
from server.cli.long_running import ReadUnits, long_running, scanning
from server.cli.options import STORE, takes
from server.errors import DIFFERS, CommandError
from server.local_engine.storage import open_store
from server.sentences import counted
from server.settings import Settings

_STDOUT = Path("-")
_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
}


def _kind(kinds: Sequence[ItemKind]) -> Any:
    names = ("all", *files_of(kinds))
    # Typer takes the choices of an option from its type.
    return Annotated[
        Literal[names], typer.Option(metavar="KIND", help=f"Rows to export: {', '.join(names)}.")
    ]


@long_running
@takes(*STORE)
async def export(
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Directory for one file of each kind; or file for one kind; or - for standard "
            "output.",
        ),
    ],
    kind: Annotated[str, _kind] = "all",
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="Format of the files. Default: the format in the file's name, or jsonl. "
            "Parquet needs `.venv/bin/pip install -c constraints.txt -e '.[analytics]'`.",
        ),
    ] = None,
    all_states: Annotated[
        bool,
        typer.Option(
            "--all-states",
            help="Also export comments that wait for a moderator or are rejected, with their state "
            "and the moderator's decision. Default: only published comments.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    read_units: ReadUnits = None,
    settings: Settings,
    kinds: Sequence[ItemKind],
) -> None:
    """Export rows to files. 'marginalia load --kind KIND' can read the files.

    Servers may write meanwhile. If a row exists during the whole export, the files contain it
    exactly once. If the row changes meanwhile, the files contain one of its versions. A row that is
    added or deleted meanwhile may be missing. The files appear only after all of them are complete.

    The exit code is 1 if an item cannot be read.
    """
    if all_states and kind not in {"all", "comments"}:
        raise CommandError(
            f"--all-states is only for comments, but the kind is {kind}: remove --all-states."
        )
    chosen = kinds if kind == "all" else with_file(kinds, kind)
    if output == _STDOUT:
        if kind == "all":
            raise CommandError(
                "Standard output can take only one kind of rows: choose a kind with --kind."
            )
        if format_ == "parquet":
            raise CommandError(
                "Parquet cannot be streamed to standard output: name a file with --output."
            )
        rows_of = chosen, Layout(format_ or "jsonl", all_states)
        write = partial(export_to_stdout, rows_of=rows_of, output=sys.stdout.buffer)
    else:
        target = _target(output, kind, chosen, format_, all_states=all_states)
        write = partial(export_to, target=target, force=force)
    # ``usable=False`` allows a table that lacks indexes. An operator may need to export a table
    # because `table upgrade` cannot upgrade it.
    async with open_store(settings, share=True, usable=False) as store:
        store.table.read_pace = Pace(read_units, reads=True)
        async with scanning(store, "read") as (_, seen):
            manifest = await write(store.table, store=store.place, seen=seen)
    counts = ", ".join(f"{one.rows:,} {name}" for name, one in manifest.files.items())
    place = "standard output" if output == _STDOUT else output
    period = f"from {manifest.begun} to {manifest.ended}"
    typer.echo(f"{place}: {counts}, as they were {period}.", err=output == _STDOUT)
    if manifest.left_out:
        left_out = counted(manifest.left_out, "comment")
        typer.echo(
            f"Not exported, because they are not published: {left_out}. "
            "Add --all-states to export them, too.",
            err=output == _STDOUT,
        )
    if manifest.unreadable:
        raise CommandError(
            f"The export lacks {counted(manifest.unreadable, 'item')} that could not be read.",
            DIFFERS,
        )


def _target(
    output: Path,
    kind: str,
    chosen: Sequence[ItemKind],
    format_: Format | None,
    *,
    all_states: bool,
) -> Target:
    """Return the files to write: a directory with a file of each kind, or a file of one kind."""
    if kind == "all":
        if output.suffix.lower() in _SUFFIXES and not output.is_dir():
            raise CommandError(
                f"{output} is the name of one file, but all kinds need a directory: name a "
                "directory, or choose one kind with --kind."
            )
        return directory_of(output, chosen, Layout(format_ or "jsonl", all_states))
    if output.is_dir():
        output /= f"{kind}.{format_ or 'jsonl'}"
    by_name = _SUFFIXES.get(output.suffix.lower(), "jsonl")
    return single_file(output, chosen, Layout(format_ or by_name, all_states))
