"""Encodes objects as rows of JSONL, CSV or Parquet, which ``load`` can read."""

import csv
import glob
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import orjson

from dal.kinds.item_kind import Field, FileKind
from dal.model import OrderLine
from dal.table.key_parts import format_instant
from features.loading.parquet import duckdb_in_memory
from server.errors import CommandError

Format: TypeAlias = Literal["jsonl", "csv", "parquet"]

_JSON = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of exported files.

    With ``all_states``, a file of comments also contains the unpublished comments, and the fields
    of each comment's state.
    """

    format: Format
    all_states: bool = False

    def fields(self, kind: FileKind[Any]) -> Sequence[Field]:
        """Return the fields of the rows of one kind."""
        return [one for one in kind.fields if self.all_states or not one.all_states]

    def header(self, kind: FileKind[Any]) -> bytes:
        """Return the first line of a CSV file: the names of the fields.

        For other formats, return no bytes, because only CSV has a header.
        """
        names = [one.name for one in self.fields(kind)]
        return csv_records([names]) if self.format == "csv" else b""

    def encode(self, kind: FileKind[Any], objects: Iterable[Any]) -> bytes:
        """Return objects as rows of CSV or JSONL.

        Parquet files are first written as JSONL. ``write_parquet`` converts them afterwards.
        """
        names = [one.name for one in self.fields(kind)]
        # ``cells`` returns the cells of all fields. Without ``all_states``, ``names`` lacks the
        # last fields, which describe the state, and ``zip`` drops their cells.
        rows = (dict(zip(names, kind.cells(one), strict=False)) for one in objects)
        if self.format == "csv":
            return csv_records([map(_cell, row.values()) for row in rows])
        options = _JSON | orjson.OPT_APPEND_NEWLINE
        return b"".join(orjson.dumps(row, _plain, options) for row in rows)


def _plain(value: Any) -> object:
    if isinstance(value, OrderLine):
        price = str(value.unit_price)
        return {"product_id": value.product_id, "quantity": value.quantity, "unit_price": price}
    if isinstance(value, datetime):
        return format_instant(value)
    return {one.name: getattr(value, one.name) for one in fields(value)}


def csv_records(rows: Iterable[Iterable[str]]) -> bytes:
    """Return rows as CSV."""
    text = io.StringIO(newline="")
    # All cells have quotes, so that ``CsvRows`` cannot take lines of a text for rows.
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue().encode()


def _cell(value: object) -> str:
    if isinstance(value, list | tuple):
        return orjson.dumps(value, _plain, _JSON).decode()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return format_instant(value)
    return "" if value is None else str(value)


def write_parquet(jsonl: Path, parquet: Path, kind: FileKind[Any], layout: Layout) -> None:
    """Convert the rows of a JSONL file to Parquet, with the column types of their kind.

    Instants become TIMESTAMP WITH TIME ZONE in UTC with microseconds. Raises CommandError if DuckDB
    is not installed, if the file cannot be written, or if a value does not fit its column.
    """
    with duckdb_in_memory() as database:
        from duckdb import Error, IOException  # noqa: PLC0415 - see duckdb_in_memory

        types = {one.name: one.parquet for one in layout.fields(kind)}
        rows = database.read_json(
            glob.escape(str(jsonl)), format="newline_delimited", columns=types
        )
        try:
            rows.write_parquet(str(parquet), compression="zstd")
        except Error as error:
            reason = str(error).partition("\n")[0]
            if isinstance(error, IOException):
                raise CommandError(
                    f"The Parquet file of the {kind.name} cannot be written ({reason}): free disk "
                    "space, or name another output."
                ) from error
            raise CommandError(
                f"Some of the {kind.name} cannot be written as Parquet ({reason}): export to "
                "another output with --format jsonl."
            ) from error
