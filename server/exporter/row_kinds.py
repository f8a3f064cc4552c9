"""Objects as rows of JSONL, CSV and Parquet, with the fields as ``load`` names them."""

import csv
import glob
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import orjson

from dal.model import Comment, Order, ProductDetails, Profile, Roster, Ticket
from dal.model.key_parts import format_instant
from server.errors import CommandError
from server.parquet import duckdb_in_memory

Format: TypeAlias = Literal["jsonl", "csv", "parquet"]

ExportKind: TypeAlias = Literal[
    "comments", "orders", "organizations", "tickets", "profiles", "products"
]


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else format_instant(moment)


def _comment(one: Comment) -> Iterable[object]:
    *plain, created_at, updated_at, verified = one
    return (*plain, _instant(created_at), _instant(updated_at), verified)


def _order(one: Order) -> Iterable[object]:
    lines = [
        {
            "product_id": line.product_id,
            "quantity": line.quantity,
            "unit_price": str(line.unit_price),
        }
        for line in one.lines
    ]
    return (one.order_id, one.username, one.status.value, _instant(one.created_at), lines)


def _roster(one: Roster) -> Iterable[object]:
    users = [{"username": user.username, "type": user.type.value} for user in one.users]
    return (one.organization.name, one.organization.subscription_plan, users)


def _ticket(one: Ticket) -> Iterable[object]:
    owner = (one.ticket_id, one.organization, one.username)
    return (*owner, one.subject, one.text, one.status.value, _instant(one.created_at))


def _profile(one: tuple[str, Profile]) -> Iterable[object]:
    username, profile = one
    return (username, profile.full_name, profile.email)


def _product(one: tuple[str, ProductDetails]) -> Iterable[object]:
    product_id, details = one
    return (product_id, details.title, details.picture_url, details.url)


@dataclass(frozen=True, slots=True)
class RowKind:
    """The rows of one kind: each field with its type in Parquet, and the cells of an object."""

    types: Mapping[str, str]
    cells: Callable[[Any], Iterable[object]]

    @property
    def fields(self) -> Sequence[str]:
        """The names of the fields, in the order of the cells."""
        return list(self.types)


_TEXT, _INSTANT = "VARCHAR", "TIMESTAMPTZ"

ROW_KINDS: Mapping[ExportKind, RowKind] = {
    "comments": RowKind(
        {
            "id": _TEXT,
            "product_id": _TEXT,
            "username": _TEXT,
            "rating": "INTEGER",
            "language": _TEXT,
            "title": _TEXT,
            "text": _TEXT,
            "created_at": _INSTANT,
            "updated_at": _INSTANT,
            "verified_purchase": "BOOLEAN",
        },
        _comment,
    ),
    "orders": RowKind(
        {
            "id": _TEXT,
            "username": _TEXT,
            "status": _TEXT,
            "created_at": _INSTANT,
            "lines": "STRUCT(product_id VARCHAR, quantity INTEGER, unit_price VARCHAR)[]",
        },
        _order,
    ),
    "organizations": RowKind(
        {
            "name": _TEXT,
            "subscription_plan": _TEXT,
            "users": 'STRUCT(username VARCHAR, "type" VARCHAR)[]',
        },
        _roster,
    ),
    "tickets": RowKind(
        {
            "id": _TEXT,
            "organization": _TEXT,
            "username": _TEXT,
            "subject": _TEXT,
            "text": _TEXT,
            "status": _TEXT,
            "created_at": _INSTANT,
        },
        _ticket,
    ),
    "profiles": RowKind({"username": _TEXT, "full_name": _TEXT, "email": _TEXT}, _profile),
    "products": RowKind(
        {"id": _TEXT, "title": _TEXT, "picture_url": _TEXT, "url": _TEXT}, _product
    ),
}


def header(kind: ExportKind, written_in: Format) -> bytes:
    """Return what comes before the rows of a file."""
    return _records([ROW_KINDS[kind].fields]) if written_in == "csv" else b""


def encode(kind: ExportKind, written_in: Format, objects: Iterable[Any]) -> bytes:
    """Return objects as rows; those of Parquet are JSONL until their file is made."""
    fields, cells = ROW_KINDS[kind].fields, ROW_KINDS[kind].cells
    rows = map(cells, objects)
    if written_in == "csv":
        return _records([map(_cell, row) for row in rows])
    return b"".join(
        orjson.dumps(dict(zip(fields, row, strict=True)), option=orjson.OPT_APPEND_NEWLINE)
        for row in rows
    )


def _records(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _cell(value: object) -> str:
    if isinstance(value, list):
        return orjson.dumps(value).decode()
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def write_parquet(jsonl: Path, parquet: Path, kind: ExportKind) -> None:
    """Write the rows of a JSONL export as Parquet, with the columns and types of their kind.

    Instants are TIMESTAMP WITH TIME ZONE in UTC, to the microsecond. CommandError without DuckDB,
    and when the file cannot be written or a value is beyond its column.
    """
    with duckdb_in_memory() as database:
        from duckdb import Error, IOException  # noqa: PLC0415 - as in duckdb_in_memory

        rows = database.read_json(
            glob.escape(str(jsonl)), format="newline_delimited", columns=dict(ROW_KINDS[kind].types)
        )
        try:
            rows.write_parquet(str(parquet), compression="zstd")
        except IOException as error:
            raise CommandError(
                f"The Parquet file of the {kind} cannot be written ({_reason(error)}): make room, "
                "or name another output."
            ) from error
        except Error as error:
            raise CommandError(
                f"Some {kind} are beyond the columns of Parquet ({_reason(error)}): export to "
                "another output with --format jsonl."
            ) from error


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0]
