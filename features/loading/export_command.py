"""``marginalia export``: writes the stored rows to files that ``load`` reads, or a review feed."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

import typer

from dal.dynamodb.concurrency import Pace
from dal.kinds.item_kind import ItemKind
from features.loading.export_feed import FeedManifest, export_feed, left_out
from features.loading.export_files import (
    MANIFEST,
    Manifest,
    Target,
    directory_of,
    export_to_stdout,
)
from features.loading.export_files import export as export_to
from features.loading.export_rows import Format, Layout
from features.loading.feed_formats import FEEDS
from features.loading.feed_writer import LINK, Shop
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


def _format(_: Sequence[ItemKind]) -> Any:
    names = (*get_args(Format), *FEEDS)
    return Annotated[
        Literal[names] | None,
        typer.Option(
            "--format",
            help="Format of the files. Default: the format in the file's name, or jsonl. "
            "Parquet needs `.venv/bin/pip install -c constraints.txt -e '.[analytics]'`. "
            "google-reviews and meta-reviews are feeds with all published comments, for Google "
            "Merchant Center and Meta's shops.",
        ),
    ]


def _kind(kinds: Sequence[ItemKind]) -> Any:
    names = ("all", *files_of(kinds))
    # Typer takes the choices of an option from its type.
    return Annotated[
        Literal[names], typer.Option(metavar="KIND", help=f"Rows to export: {', '.join(names)}.")
    ]


_feed = partial(typer.Option, rich_help_panel="Review feeds", show_default=False)


@long_running
@takes("public_url", *STORE)
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
    format_: Annotated[str | None, _format] = None,
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
    shop_name: Annotated[
        str | None, _feed("--shop-name", help="Name of the shop. Required for feeds.")
    ] = None,
    shop_url: Annotated[
        str | None, _feed("--shop-url", help="URL of the shop, for Meta. Default: --public-url.")
    ] = None,
    shop_icon: Annotated[
        str | None,
        _feed("--shop-icon", help="URL of the shop's icon of 16 x 16 pixels, for Google."),
    ] = None,
    shop_id: Annotated[
        str | None, _feed("--shop-id", help="Id of the shop at the sender of the feed, for Meta.")
    ] = None,
    settings: Settings,
    kinds: Sequence[ItemKind],
) -> None:
    """Export rows to files. 'marginalia load --kind KIND' can read the files, except feeds.

    Servers may write meanwhile. If a row exists during the whole export, the files contain it
    exactly once. If the row changes meanwhile, the files contain one of its versions. A row that is
    added or deleted meanwhile may be missing. The files appear only after all of them are complete.

    The exit code is 1 if an item cannot be read.
    """
    write: Callable[..., Awaitable[Manifest | FeedManifest]]
    if format_ is not None and format_ in FEEDS:
        if kind not in {"all", "comments"} or all_states:
            given = "--all-states" if all_states else "--kind"
            raise CommandError(f"A feed has all published comments: remove {given}.")
        if output == _STDOUT or (output.suffix and not output.is_dir()):
            raise CommandError(
                f"{output} is not a directory, but a feed may have several files: name a directory "
                "with --output."
            )
        shop = _shop(shop_name, settings.public_url, shop_url, shop_icon, shop_id)
        write = partial(
            export_feed, kinds=kinds, name=format_, shop=shop, directory=output, force=force
        )
    else:
        if all_states and kind not in {"all", "comments"}:
            raise CommandError(
                f"--all-states is only for comments, but the kind is {kind}: remove --all-states."
            )
        format_ = cast("Format | None", format_)
        chosen = kinds if kind == "all" else with_file(kinds, kind)
        target = _target(output, kind, chosen, format_, all_states=all_states)
        if output != _STDOUT:
            write = partial(export_to, target=target, force=force)
        elif kind == "all":
            raise CommandError(
                "Standard output can take only one kind of rows: choose a kind with --kind."
            )
        elif format_ == "parquet":
            raise CommandError(
                "Parquet cannot be streamed to standard output: name a file with --output."
            )
        else:
            write = partial(export_to_stdout, target=target, output=sys.stdout.buffer)
    # ``usable=False`` allows a table that lacks indexes. An operator may need to export a table
    # because `table upgrade` cannot upgrade it.
    async with open_store(settings, share=True, usable=False) as store:
        store.table.read_pace = Pace(read_units, reads=True)
        async with scanning(store, "read") as (_, seen):
            manifest = await write(store.table, store=store.place, seen=seen)
    _report(manifest, output)


def _shop(
    name: str | None, site: str | None, url: str | None, icon: str | None, shop_id: str | None
) -> Shop:
    if not (name or "").strip():
        raise CommandError("A feed has the name of the shop: add it with --shop-name.")
    if site is None:
        raise CommandError(
            "A feed has complete URLs of products and photos: add the server's address with "
            "--public-url, such as https://shop.example."
        )
    for option, value in (("--shop-url", url), ("--shop-icon", icon)):
        if value is not None and not LINK.fullmatch(value):
            raise CommandError(
                f"{option} {value!r} is not a URL such as https://shop.example/a.png."
            )
    return Shop(name or "", site, url or site, icon, shop_id)


def _report(manifest: Manifest | FeedManifest, output: Path) -> None:
    period = f"as they were from {manifest.begun} to {manifest.ended}."
    if isinstance(manifest, FeedManifest):
        reviews, files = counted(manifest.counts.reviews, "review"), ", ".join(manifest.files)
        typer.echo(f"{output}: {reviews} in {files}, {period}")
        if manifest.counts.without_words or manifest.counts.without_url:
            typer.echo(f"Published, but not in the feed: {left_out(manifest.counts)}.")
    else:
        place = "standard output" if output == _STDOUT else output
        counts = ", ".join(f"{one.rows:,} {name}" for name, one in manifest.files.items())
        typer.echo(f"{place}: {counts}, {period}", err=output == _STDOUT)
        if manifest.left_out:
            typer.echo(
                "Not exported, because they are not published: "
                f"{counted(manifest.left_out, 'comment')}. Add --all-states to export them, too.",
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
    manifest = output.with_name(f"{output.name}.{MANIFEST}")
    return Target({kind: output}, manifest, Layout(format_ or by_name, all_states), chosen)
