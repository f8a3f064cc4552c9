"""Runs the engine of a measurement: a storage engine whose table has the comments to read.

This module writes the comments and their counters as an export in Amazon's format, and the embedded
engine imports the export. For a million comments this takes minutes. ``marginalia load`` would take
longer, because every transaction also counts its comments, and the engine waits for the disk after
each transaction.
"""

import asyncio
import secrets
import subprocess
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from dal.counts import counter_items
from dal.counts.counts import RatingCounts, StatisticsKey, deltas
from dal.dynamodb import admin
from dal.entities.comment import COMMENT
from dal.model import Comment
from dal.stores import Stores
from dal.table.items import Item
from resolvers.authorization import STAFF
from server.auth.authenticator import make_token
from server.errors import CommandError
from server.local_engine.data_directory import DataDirectory
from server.local_engine.program import engine_binary
from server.local_engine.storage import open_table
from server.progress import ProgressBar
from server.settings import Settings

_SCHEMA = "schema.json"
_SHOWN_EVERY = 1_000
"""Number of comments between two updates of the progress bar."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The ``marginalia`` programs to measure, and the directory of the engine's data file."""

    marginalia: Path
    other: Path | None
    rows_dir: Path | None
    """The directory that keeps the data file for later runs. None for a temporary directory."""
    secret: str = field(default_factory=secrets.token_hex)

    def token(self) -> str:
        """Return a JWT with which clients may write."""
        return make_token(self.secret, user="bench", roles=[STAFF], lifetime=timedelta(days=1))


@dataclass(frozen=True, slots=True)
class Rows:
    """The comments of a measurement.

    The table stores ``name``, so that a later run can check whether the table has these comments.
    """

    name: str
    count: int
    comments: Iterable[Comment]


@dataclass(frozen=True, slots=True)
class Place:
    """The running engine, and the options with which a Marginalia server uses its table."""

    programs: Programs
    endpoint_url: str
    engine_pid: int
    table: str
    options: Sequence[str]


@asynccontextmanager
async def place(programs: Programs, rows: Rows) -> AsyncIterator[Place]:
    """In the ``with`` block, run an engine that has the rows.

    If ``programs.rows_dir`` has no data file, create one first. Raise CommandError if its data file
    has other rows.
    """
    with TemporaryDirectory() as directory:
        settings = Settings(data_dir=programs.rows_dir or Path(directory))
        data = DataDirectory(settings.data_dir)
        if not data.database.exists():
            await _fill(data, rows)
        async with open_table(settings, share=False) as table:
            if not await Stores(table).markers.marked(rows.name):
                raise CommandError(
                    f"{settings.data_dir} has other rows: name another directory with --rows-dir."
                )
            record = data.record()
            assert record is not None  # noqa: S101 - its engine runs
            options = ["--endpoint-url", record.endpoint_url, "--table", settings.table]
            options += ["--data-dir", str(settings.data_dir.resolve())]
            options += ["--jwt-secret", programs.secret]
            yield Place(programs, record.endpoint_url, record.engine, settings.table, options)


async def _fill(data: DataDirectory, rows: Rows) -> None:
    """Create the data file in ``data``, which has none, and store the rows in it."""
    data.prepare()
    with (
        TemporaryDirectory(dir=data.path) as directory,
        ProgressBar("Filling", 2 * rows.count) as progress,
    ):
        export = Path(directory, "export")
        settings = Settings(data_dir=Path(directory, "new"))
        async with open_table(settings, share=False) as table:
            await Stores(table).markers.mark(rows.name)
            begun = (await table.scan(0, 1, None)).items
            items = export / table.name / "data"
            items.mkdir(parents=True)
            schema = orjson.dumps({"Table": await admin.describe(table)}, default=str)
            (export / _SCHEMA).write_bytes(schema)
            with (items / "items.json").open("wb") as file:
                all_items = chain(begun, _items(rows.comments, progress))
                file.writelines(orjson.dumps({"Item": item}) + b"\n" for item in all_items)
        progress.update(rows.count, "the engine imports the comments")
        await asyncio.to_thread(_import, engine_binary(), export, data.database)


def _items(comments: Iterable[Comment], progress: ProgressBar) -> Iterator[Item]:
    counts: dict[StatisticsKey, RatingCounts] = {}
    for number, comment in enumerate(comments, 1):
        yield COMMENT.encode(comment)
        for key, change in deltas(None, comment).items():
            counts[key] = counts.get(key, RatingCounts()) + change
        if number % _SHOWN_EVERY == 0:
            progress.update(number, "comments")
    yield from counter_items.encode_all(counts)


def _import(engine: Path, export: Path, database: Path) -> None:
    """Create an engine's data file from an export."""
    draft = export / database.name
    command = [str(engine), "import", "--source", str(export), "--output", str(draft)]
    done = subprocess.run(  # noqa: S603 - the engine
        [*command, "--schema", str(export / _SCHEMA)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = " ".join(done.stderr.split())[-300:]
        raise CommandError(f"The storage engine cannot import the rows: {reason}")
    draft.replace(database)
