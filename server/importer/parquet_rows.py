"""Parquet, read by DuckDB: a row of any file's columns, with JSON's values for cells."""

import glob
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from dal.model.key_parts import format_instant
from server.errors import CommandError
from server.importer.rows import Row
from server.importer.source import unreadable
from server.parquet import duckdb_in_memory

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_AT_ONCE = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN = {"VARCHAR", "BOOLEAN", "DOUBLE", "FLOAT"}
_PLAIN |= {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "")}
_PLAIN |= {"INTEGER", "UINTEGER"}


class ParquetRows(Iterator[Row]):
    """Iterates over the rows of a file; ``columns`` are its top ones.

    Instants come as ISO 8601 in UTC, lists and structures as JSON's, decimals and dates as text.
    """

    def __init__(self, database: "DuckDBPyConnection", path: Path) -> None:
        self._path = path
        named = [glob.escape(str(path))]
        with _whole(path):
            self._open(database, named)
        self._ahead: list[tuple[object, ...]] = []
        self._number = 0

    def _open(self, database: "DuckDBPyConnection", named: Sequence[str]) -> None:
        described = database.execute("DESCRIBE SELECT * FROM read_parquet(?)", named).fetchall()
        self._types = [str(row[1]) for row in described]
        self.columns: Sequence[str] = [str(row[0]) for row in described]
        cells = ", ".join(map(_expression, self.columns, self._types))
        self._answer = database.execute(f"SELECT {cells} FROM read_parquet(?)", named)  # noqa: S608 - names are quoted

    def __next__(self) -> Row:
        """Return the next row; StopIteration after the last."""
        if not self._ahead:
            with _whole(self._path):
                self._ahead = self._answer.fetchmany(_AT_ONCE)[::-1]
            if not self._ahead:
                raise StopIteration
        self._number += 1
        cells = map(_cell, self._ahead.pop(), self._types)
        return Row(self._number, dict(zip(self.columns, cells, strict=True)))


@contextmanager
def open_parquet(path: Path) -> Iterator[ParquetRows]:
    """Open a Parquet file; CommandError when it is none, and without DuckDB."""
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise unreadable(str(path), error) from error
    with duckdb_in_memory() as database:
        yield ParquetRows(database, path)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Say in one sentence that DuckDB cannot read a file, or not all of it."""
    from duckdb import Error  # noqa: PLC0415 - as in duckdb_in_memory

    try:
        yield
    except Error as error:
        reason = str(error).partition("\n")[0]
        raise CommandError(f"{path} is not a whole Parquet file ({reason}).") from error


def _expression(name: str, type_: str) -> str:
    column = '"{}"'.format(name.replace('"', '""'))
    if type_ in _PLAIN:
        return column
    if type_.startswith("TIMESTAMP"):
        zoned = "TIMESTAMPTZ" if type_.endswith("TIME ZONE") else "TIMESTAMP"
        return f"epoch_us({column}::{zoned})"
    if _nested(type_):
        return f"to_json({column})::VARCHAR"
    return f"{column}::VARCHAR"


def _nested(type_: str) -> bool:
    return type_.endswith("]") or type_.startswith(("STRUCT", "MAP", "UNION"))


def _cell(value: object, type_: str) -> object:
    if isinstance(value, int) and type_.startswith("TIMESTAMP"):
        return _instant(value)
    if isinstance(value, str) and _nested(type_):
        return json.loads(value, parse_constant=_no_number)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _no_number(constant: str) -> str:
    """Return NaN and the infinities within a list or a structure as those of a column come."""
    return str(float(constant))


def _instant(microseconds: int) -> str:
    try:
        return format_instant(_EPOCH + timedelta(microseconds=microseconds))
    except OverflowError:
        return f"{microseconds} microseconds, which is out of the calendar"
