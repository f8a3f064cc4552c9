"""``marginalia user export`` and ``marginalia user erase``: export and erase a user's data."""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import orjson
import typer

from dal.dynamodb import admin
from dal.dynamodb.concurrency import Pace
from dal.kinds.item_kind import ItemKind
from dal.model import own_ids
from dal.table.items import Item
from dal.table.key_parts import format_instant
from features.privacy.erasure import Choices, CommentFate, Erased, Erasure, Fate
from features.privacy.personal_data import exported, find, kind_in, scan
from server.cli.long_running import ReadUnits, WriteUnits, long_running, scanning, writers_settled
from server.cli.options import STORE, Name, takes
from server.errors import CommandError
from server.local_engine.compaction import compact
from server.local_engine.storage import Store, open_store
from server.progress import ProgressBar
from server.sentences import counted
from server.settings import Settings

Scans = Annotated[
    bool,
    typer.Option(
        "--scan/--no-scan",
        help="Whether to read the whole table. Without a scan, the command does not find tickets "
        "of organisations that the user has left.",
    ),
]

_FATES = {"delete": "deleted", "keep": "kept", "rename": "renamed", "anonymize": "renamed"}

_PROVED_BY_SCAN = "A scan of the table found the name nowhere else."
_PROVED_BY_QUERIES = (
    "Two passes over the indexes found the name nowhere else. The table was not scanned."
)

_OUT_OF_REACH = """\
This command cannot reach:
- backups, point-in-time recovery and exported files: if you load an old file,
  the data is in the table again
- the table's stream, for 24 hours
- Redis's append-only file, until Redis rewrites it
- photos in the bucket: delete the URLs that an earlier export lists
- the analytics store: run `marginalia analytics refresh`
- texts in which other users mention the name, and pages in a CDN
- the account at the sign-in provider: with it, the user can write again"""


@long_running
@takes(*STORE)
async def export(
    name: Name,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="New file. Default: standard output.", show_default=False
        ),
    ] = None,
    scans: Scans = True,
    read_units: ReadUnits = None,
    settings: Settings,
    kinds: Sequence[ItemKind],
) -> None:
    """Write all data of a user that the table contains, as one JSON object.

    The object contains the user's profile, comments in all states, reports, votes, orders,
    purchases, tickets, memberships, idempotency keys and the other items that name the user. If the
    user is blocked, it contains the block. If the user is a moderator, it contains the user's
    decisions and blocks of other users.

    Servers may write meanwhile. If an item changes meanwhile, the object contains one of its
    versions.
    """
    name = own_ids.own_id("NAME", name)
    if output is not None and output.exists():
        raise CommandError(f"{output} exists: name a new file.")
    with ExitStack() as undo:
        if output is not None:
            # Create the file before the scan, which may take long, so that a wrong path fails now.
            with _writing(output):
                # Other users of the machine must not read the file.
                output.touch(mode=0o600, exist_ok=False)
            undo.callback(output.unlink)
        async with open_store(settings, share=True) as store:
            store.table.read_pace = Pace(read_units, reads=True)
            if scans:
                async with scanning(store) as (_, seen):
                    items = await scan(store.table, name, seen, kinds)
            else:
                items = [item async for item in find(store.table, name, kinds)]
        if not items:
            typer.echo(f"The table has no data of {name}.", err=output is None)
            return
        data = exported(items, name, kinds) | {"exportedAt": format_instant(datetime.now(UTC))}
        text = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        if output is None:
            sys.stdout.write(text.decode())
            return
        with _writing(output):
            output.write_bytes(text)
        undo.pop_all()
    typer.echo(f"{output}: {_listed(kinds, _counts(kinds, items, name))}.")


@contextmanager
def _writing(output: Path) -> Iterator[None]:
    """Raise CommandError instead of an OSError of the ``with`` block."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{output} cannot be written: {error.strerror}.") from error


@long_running
@takes(*STORE)
async def erase(
    name: Name,
    *,
    comments: Annotated[
        CommentFate, typer.Option(help="Delete comments, or replace the name in them.")
    ] = "delete",
    orders: Annotated[
        Fate,
        typer.Option(
            help="Keep orders unchanged, replace the name in them, or delete them. Laws on "
            "bookkeeping may require you to keep them."
        ),
    ] = "keep",
    tickets: Annotated[
        Fate,
        typer.Option(
            help="Keep tickets unchanged, replace the name in them, or delete them. Organisations "
            "may need the tickets later."
        ),
    ] = "rename",
    scans: Scans = True,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    read_units: ReadUnits = None,
    write_units: WriteUnits = None,
    settings: Settings,
    kinds: Sequence[ItemKind],
) -> None:
    """Erase the data of a user, or remove the user's name from the data, while servers run.

    With 'anonymize' or 'rename', the command replaces the user's id by a random name, such as
    erased-1a2b3c4d, and removes the display name and photos. Each comment, order or ticket gets a
    different name. In decisions and blocks that the user made as a moderator, the name becomes
    'erased'. All other data of the user is deleted, except orders and tickets that you choose to
    keep.

    Close the user's account at the sign-in provider first. While the command runs, servers refuse
    all of the user's mutations. The command ends when a scan of the table, or with --no-scan two
    passes over the indexes, finds the name nowhere else. If the command is interrupted, run it
    again.
    """
    name, choices = own_ids.own_id("NAME", name), Choices(comments, orders, tickets)
    async with open_store(settings, share=True) as store:
        store.table.pace = Pace(write_units)
        store.table.read_pace = Pace(read_units, reads=True)
        found = _counts(kinds, [item async for item in find(store.table, name, kinds)], name)
        to_keep = {kind.name for kind in kinds if choices.fate(kind) == "keep"}
        if scans and found.keys() <= to_keep:
            async with scanning(store) as (_, seen):
                found = _counts(kinds, await scan(store.table, name, seen, kinds), name)
        if found.keys() <= to_keep:
            kept = f", except {_listed(kinds, found)} that you chose to keep" if found else ""
            typer.echo(f"The table has no data of {name}{kept}.")
            return
        if not yes:
            planned = _listed(kinds, found, choices, "will be ")
            _confirm(f"{name}: {planned}.")
        erasure = Erasure(store.table, name, choices, kinds)
        done = await _erase(store, erasure, found.total(), scans=scans)
        if store.directory is not None and not store.alone:
            await asyncio.to_thread(compact, store.directory.database)
    typer.echo(f"{name} is erased: {_listed(kinds, done.erased, choices)}.")
    if done.kept:
        typer.echo(f"As you chose, the name stays in {_listed(kinds, done.kept)}.")
    typer.echo(_PROVED_BY_SCAN if scans else _PROVED_BY_QUERIES)
    typer.echo(_OUT_OF_REACH)


async def _erase(store: Store, erasure: Erasure, found: int, *, scans: bool) -> Erased:
    total = found + ((await admin.describe(store.table))["ItemCount"] if scans else 0)
    erased = 0

    def show(items: int) -> None:
        nonlocal erased
        erased = items
        progress.update(items, f"{items:,} items erased")

    def seen(items: int) -> None:
        progress.update(erased + items, f"{items:,} items scanned")

    with ProgressBar(store.table.name, total) as progress:
        wait = writers_settled(store, progress)
        return await erasure.run(wait, show, seen if scans else None)


def _confirm(planned: str) -> None:
    """Ask the operator to confirm the erasure. ``planned`` says what it will do.

    Raise Abort if the answer is no. Raise CommandError if standard input is not a terminal.
    """
    if not sys.stdin.isatty():
        raise CommandError("The command cannot ask for confirmation without a terminal: add --yes.")
    typer.echo(planned)
    typer.confirm("Erase this user permanently?", abort=True)


def _counts(kinds: Sequence[ItemKind], items: Iterable[Item], name: str) -> Counter[str]:
    found = (kind_in(item, name, kinds) for item in items)
    return Counter(kind.name for kind in found if kind is not None)


def _listed(
    kinds: Sequence[ItemKind],
    counts: Counter[str],
    choices: Choices | None = None,
    tense: str = "",
) -> str:
    """Return counts as text, such as ``2 comments``.

    With ``choices``, the text contains what happens to the data, such as ``2 comments deleted``. If
    ``tense`` is ``will be``, the text is ``2 comments will be deleted``.
    """
    parts = [
        counted(counts[kind.name], kind.noun)
        + (f" {tense}{_FATES[choices.fate(kind)]}" if choices else "")
        for kind in kinds
        if counts[kind.name]
    ]
    return ", ".join(parts) or "0 items"
