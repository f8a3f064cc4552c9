"""The place of a measurement: an engine that holds its rows.

The embedded engine's file is made of an export in Amazon's format, with the counters at its end,
as one load of the rows would make it: a million comments take minutes. The loader reads what each
id holds, and counts in every transaction, for which the engine waits for the disk.
"""

import asyncio
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from dal.client import admin
from dal.client.table import Table
from dal.entities.comment import COMMENT
from dal.model import Comment
from dal.statistics import counter_items
from dal.statistics.counts import RatingDeltas, StatisticsKey, deltas
from dal.stores import Stores
from dal.table.items import Item
from resolvers.authorization import STAFF
from server.auth.authenticator import make_token
from server.engine.data_directory import DataDirectory
from server.engine.program import engine_binary
from server.engine.storage import open_table
from server.errors import CommandError
from server.progress import ProgressBar
from server.settings import Settings

OWN = Path(sys.executable).with_name("marginalia")
"""This environment's program."""

_SCHEMA = "schema.json"
_SHOWN_EVERY = 1_000
"""Comments."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs to measure, and the directory of their rows."""

    marginalia: Path | None
    """None is this environment's own."""
    other: Path | None
    rows_dir: Path | None
    """None is a temporary directory."""
    secret: str = field(default_factory=secrets.token_hex)

    def token(self) -> str:
        """Return a JWT to write with."""
        return make_token(self.secret, username="bench", roles=[STAFF], lifetime=timedelta(days=1))


@dataclass(frozen=True, slots=True)
class Rows:
    """Comments to measure with, under a name by which a directory's are known again."""

    name: str
    count: int
    comments: Iterable[Comment]


@dataclass(frozen=True, slots=True)
class Place:
    """The engine with the rows, and the options of the servers."""

    endpoint_url: str
    engine_pid: int
    table: str
    data_dir: Path
    """Data directory of a Marginalia server."""
    secret: str
    """Of JWTs."""
    program: Path
    other: Path | None


@asynccontextmanager
async def place(programs: Programs, rows: Rows) -> AsyncIterator[Place]:
    """Run an engine that holds the rows until the block ends."""
    with TemporaryDirectory() as directory:
        settings = Settings(data_dir=programs.rows_dir or Path(directory))
        data = DataDirectory(settings.data_dir)
        if not data.database.exists():
            await _fill(data, rows)
        async with open_table(settings, share=False) as table:
            if not await Stores(table).markers.marked(rows.name):
                raise CommandError(
                    f"{settings.data_dir} holds other rows: name another with --rows-dir."
                )
            record = data.record()
            assert record is not None  # noqa: S101 - its engine runs
            yield Place(
                endpoint_url=record.endpoint_url,
                engine_pid=record.engine,
                table=settings.table,
                data_dir=settings.data_dir.resolve(),
                secret=programs.secret,
                program=(programs.marginalia or OWN).absolute(),
                other=programs.other and programs.other.absolute(),
            )


async def _fill(data: DataDirectory, rows: Rows) -> None:
    """Make the data file of a directory that has none."""
    data.prepare()
    with (
        TemporaryDirectory(dir=data.path) as directory,
        ProgressBar("Filling", 2 * rows.count) as progress,
    ):
        scratch = Path(directory)
        settings = Settings(data_dir=scratch / "new")
        async with open_table(settings, share=False) as table:
            await _export(
                table,
                rows.comments,
                rows.name,
                scratch / "export",
                lambda done: progress.update(done, "comments"),
            )
        progress.update(rows.count, "the engine imports them")
        await asyncio.to_thread(_import, engine_binary(), scratch / "export", data.database)


async def _export(
    table: Table,
    comments: Iterable[Comment],
    name: str,
    directory: Path,
    progress: Callable[[int], None],
) -> None:
    """Write a new table as an export that has comments too; ``progress`` gets how many."""
    await Stores(table).markers.mark(name)
    begun = (await table.scan(0, 1, None)).items
    description = await admin.describe(table)
    _write(directory, table.name, description, chain(begun, _items(comments, progress)))


def _write(directory: Path, name: str, description: Any, items: Iterable[Item]) -> None:
    data = directory / name / "data"
    data.mkdir(parents=True)
    (directory / _SCHEMA).write_bytes(orjson.dumps({"Table": description}, default=str))
    with (data / "items.json").open("wb") as file:
        file.writelines(orjson.dumps({"Item": item}) + b"\n" for item in items)


def _items(comments: Iterable[Comment], progress: Callable[[int], None]) -> Iterator[Item]:
    counts: dict[StatisticsKey, RatingDeltas] = {}
    for number, comment in enumerate(comments, 1):
        yield COMMENT.encode(comment)
        for key, change in deltas(None, comment).items():
            counts[key] = counts.get(key, RatingDeltas()) + change
        if number % _SHOWN_EVERY == 0:
            progress(number)
    yield from counter_items.encode_all(counts)


def _import(engine: Path, directory: Path, database: Path) -> None:
    """Make an engine's file of what ``_export`` has written."""
    draft = directory / database.name
    command = [str(engine), "import", "--source", str(directory), "--output", str(draft)]
    done = subprocess.run(  # noqa: S603 - the engine
        [*command, "--schema", str(directory / _SCHEMA)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = " ".join(done.stderr.split())[-300:]
        raise CommandError(f"The storage engine cannot import the rows: {reason}")
    draft.replace(database)
