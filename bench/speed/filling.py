"""Makes the embedded engine's file of comments and their counters, as one load of them would.

The loader reads what each id holds, and counts in every transaction, for which the engine waits for
the disk. The file of a table that nobody uses yet can be made of an export in Amazon's format, with
the counters at its end: a million comments take minutes.
"""

import subprocess
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from bench.speed.errors import BenchError
from dal.entities.comment import COMMENT
from dal.model import Comment
from dal.repositories.markers import MarkerRepository
from dal.statistics import counter_items
from dal.statistics.counts import RatingDeltas, StatisticsKey, deltas
from dal.table import admin
from dal.table.client import Table
from dal.table.item import Item

_SCHEMA = "schema.json"
_SHOWN_EVERY = 1_000
"""Comments."""


async def filled(table: Table, name: str) -> bool:
    """Return whether a table's file was made of the rows of this name."""
    return await MarkerRepository(table).marked(name)


async def export(
    table: Table,
    comments: Iterable[Comment],
    name: str,
    directory: Path,
    progress: Callable[[int], None],
) -> None:
    """Write a new table as an export that has comments too; ``progress`` gets how many."""
    await MarkerRepository(table).mark(name)
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


def import_export(engine: Path, directory: Path, database: Path) -> None:
    """Make an engine's file of what ``export`` has written; BenchError where it fails."""
    draft = directory / database.name
    command = [str(engine), "import", "--source", str(directory), "--output", str(draft)]
    done = subprocess.run(  # noqa: S603 - the engine
        [*command, "--schema", str(directory / _SCHEMA)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = " ".join(done.stderr.split())[-300:]
        raise BenchError(f"The storage engine cannot import the rows: {said}")
    draft.replace(database)
