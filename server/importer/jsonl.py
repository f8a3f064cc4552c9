"""JSONL: one JSON object a line; also the rejects file of an earlier load, mended or not."""

import json
from collections.abc import Iterator, Mapping
from typing import NoReturn

from server.errors import CommandError
from server.importer.csv_rows import parse_record
from server.importer.lines import Line, Lines
from server.importer.rows import Reject, Row, reject_lines
from server.importer.source import Source

_ENVELOPE = {"line", "reason", "row", "raw", "columns", "delimiter", "cut"}


class _NotARowError(Exception):
    """The message says what is wrong with the text of a row."""


def read_jsonl(source: Source) -> Iterator[Row | Reject]:
    """Yield a row or a reject for each line that is not blank; CommandError for a JSON array."""
    if source.head.lstrip().startswith(b"["):
        raise CommandError(
            f"{source.name} is one JSON array: write one object a line, with `jq -c '.[]'`."
        )
    return (_read(line) for line in Lines(source.stream, source.encoding) if line.text.strip())


def _read(line: Line) -> Row | Reject:
    if line.fault:
        return reject_lines([line], line.fault)
    try:
        found = _object(line.text.rstrip())
        if _ENVELOPE.issuperset(found) and {"line", "reason"} <= found.keys():
            return _unwrapped(line, found)
    except _NotARowError as error:
        return reject_lines([line], str(error))
    return Row(line.number, found, line.text.strip())


def _object(text: str) -> dict[str, object]:
    try:
        found = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise _NotARowError(f"broken JSON at column {error.colno}: {error.msg}") from None
    except (RecursionError, ValueError):
        raise _NotARowError("broken JSON: nested too deep, or a number too long") from None
    if not isinstance(found, dict):
        raise _NotARowError("the line is not a JSON object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise _NotARowError(f"broken JSON: {constant} is not a JSON value")


def _unwrapped(line: Line, entry: Mapping[str, object]) -> Row | Reject:
    """Return the row inside an entry of a rejects file, or that entry's row as a reject again."""
    row, raw, columns = entry.get("row"), entry.get("raw"), entry.get("columns")
    delimiter = str(entry.get("delimiter", ","))
    if isinstance(row, dict):
        return Row(line.number, row)
    if not isinstance(raw, str) or not isinstance(columns, list | None) or entry.get("cut"):
        raise _NotARowError("the entry of a rejects file holds no whole row")
    names = None if columns is None else [str(column) for column in columns]
    try:
        return Row(line.number, _parsed(raw, names, delimiter))
    except _NotARowError as error:
        return Reject(line.number, str(error), raw=raw, columns=names, delimiter=delimiter)


def _parsed(raw: str, columns: list[str] | None, delimiter: str) -> Mapping[str, object]:
    if len(delimiter) != 1:
        raise _NotARowError("delimiter is not one character")
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in raw):
        raise _NotARowError("raw holds NUL, or bytes that are not UTF-8 as \\udc80 to \\udcff")
    cells = _object(raw) if columns is None else parse_record(raw, columns, delimiter)
    if isinstance(cells, str):
        raise _NotARowError(cells)
    return cells
