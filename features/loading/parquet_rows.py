"""Reads the rows of a Parquet file. DuckDB converts them to JSON."""

import glob
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from features.loading.parquet import duckdb_in_memory
from features.loading.rows import Row
from features.loading.source import unreadable
from server.errors import CommandError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_AT_ONCE = 1_000


class ParquetRows(Iterator[Row]):
    """Iterates over the rows of a file. ``columns`` has the names of the file's columns.

    Cells are JSON values: a structure is an object. Timestamps are text in ISO 8601 and UTC. A
    timestamp without a time zone counts as UTC. Decimals and dates are text.
    """

    def __init__(self, database: "DuckDBPyConnection", path: Path) -> None:
        self._path = path
        named = [glob.escape(str(path))]
        with _reading(path):
            described = database.execute("DESCRIBE SELECT * FROM read_parquet(?)", named).fetchall()
            self.columns: Sequence[str] = [str(row[0]) for row in described]
            cells = ", ".join(_json_of(str(row[0]), str(row[1])) for row in described)
            self._answer = database.execute(
                f"SELECT to_json([{cells}])::VARCHAR FROM read_parquet(?)",  # noqa: S608 - _json_of quotes the names
                named,
            )
        self._ahead: list[tuple[str, ...]] = []
        self._number = 0

    def __next__(self) -> Row:
        """Return the next row. Raise StopIteration after the last row."""
        if not self._ahead:
            with _reading(self._path):
                self._ahead = self._answer.fetchmany(_AT_ONCE)[::-1]
            if not self._ahead:
                raise StopIteration
        self._number += 1
        # NaN and infinity become text, because they are not JSON values.
        cells = json.loads(self._ahead.pop()[0], parse_constant=lambda one: str(float(one)))
        return Row(self._number, dict(zip(self.columns, cells, strict=True)))


@contextmanager
def open_parquet(path: Path) -> Iterator[ParquetRows]:
    """Open a Parquet file.

    Raise CommandError if the file cannot be read or is not Parquet, or if DuckDB is not installed.
    """
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise unreadable(str(path), error) from error
    with duckdb_in_memory() as database:
        yield ParquetRows(database, path)


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
