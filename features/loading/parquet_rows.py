"""Reads the rows of a Parquet file. DuckDB converts them to JSON."""

import glob
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from features.loading.parquet import duckdb_in_memory
from features.loading.rows import Row
from features.loading.source import unreadable
from server.errors import CommandError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_AT_ONCE = 1_000


@contextmanager
def open_parquet(path: Path) -> Iterator[tuple[Sequence[str], Iterator[Row]]]:
    """Open a Parquet file. Yield the names of its columns, and an iterator over its rows.

    Cells are JSON values: a structure is an object. Timestamps are text in ISO 8601 and UTC. A
    timestamp without a time zone counts as UTC. Decimals and dates are text. Raises CommandError if
    the file cannot be read or is not Parquet, or if DuckDB is not installed.
    """
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise unreadable(str(path), error) from error
    named = [glob.escape(str(path))]
    with duckdb_in_memory() as database:
        with _reading(path):
            described = database.execute("DESCRIBE SELECT * FROM read_parquet(?)", named).fetchall()
            columns = [str(row[0]) for row in described]
            cells = ", ".join(_json_of(str(row[0]), str(row[1])) for row in described)
            answer = database.execute(
                f"SELECT to_json([{cells}])::VARCHAR FROM read_parquet(?)",  # noqa: S608 - _json_of quotes the names
                named,
            )
        yield columns, _rows(path, columns, answer)


def _rows(path: Path, columns: Sequence[str], answer: "DuckDBPyConnection") -> Iterator[Row]:
    numbers = count(1)
    while True:
        with _reading(path):
            batch = answer.fetchmany(_AT_ONCE)
        if not batch:
            return
        for (text,) in batch:
            # NaN and infinity become text, because they are not JSON values.
            cells = json.loads(text, parse_constant=lambda one: str(float(one)))
            yield Row(next(numbers), dict(zip(columns, cells, strict=True)))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn an error of DuckDB into a CommandError with the first line of its message."""
    from duckdb import Error  # noqa: PLC0415 - optional, see duckdb_in_memory

    try:
        yield
    except Error as error:
        reason = str(error).partition("\n")[0]
        raise CommandError(
            f"{path} is not a complete Parquet file ({reason}): get a complete copy."
        ) from error


def _json_of(name: str, type_: str) -> str:
    """Return a SQL expression that converts a column to JSON."""
    column = '"{}"'.format(name.replace('"', '""'))
    if type_.startswith("TIMESTAMP"):
        zoned = "TIMESTAMPTZ" if type_.endswith("TIME ZONE") else "TIMESTAMP"
        column = f"strftime({column}::{zoned}, '%Y-%m-%dT%H:%M:%S.%fZ')"
    elif type_.startswith("DECIMAL"):  # as text, because a JSON number would be rounded
        column = f"{column}::VARCHAR"
    return f"to_json({column})"
