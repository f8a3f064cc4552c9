"""How a file is written: JSONL, CSV or XML, and the rows that it makes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import Literal

from server.errors import CommandError
from server.importer.csv_rows import CsvRows
from server.importer.jsonl import read_jsonl
from server.importer.rows import OPENING, Reject, Row
from server.importer.source import Source
from server.importer.xml_rows import XmlRows

TextFormat = Literal["jsonl", "csv", "xml"]
FormatName = Literal["jsonl", "csv", "xml", "parquet"]

_SUFFIXES: dict[str, TextFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".xml": "xml",
}
_PACKED = {".gz", ".zst"}
_NAMED_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
_PEEKED = 50
_PEEKED_BYTES = 1_000_000
_PEEKED_SECONDS = 1.0
"""Rows that tell the columns of a file without a header: so many, unless they come slowly."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows stand in a file: ``delimiter`` for CSV, None to look; ``row`` the path for XML."""

    format: TextFormat
    delimiter: str | None = None
    row: str | None = None

    def open(self, source: Source) -> "Rows":
        """Return the rows of ``source``; CommandError for a broken header, or a JSON array."""
        if self.format == "csv":
            csv = CsvRows(source, delimiter_of(self.delimiter))
            return Rows(csv, csv.columns)
        if self.format == "jsonl":
            return _peeked(source, read_jsonl(source))
        if self.row is None:
            raise CommandError(
                f"{source.name} is XML, whose rows a preset must name: add `--preset bazaarvoice`, "
                "or one of your own with `row`."
            )
        xml = XmlRows(source, self.row)
        rows = _peeked(source, xml)
        if not rows.columns:
            raise CommandError(
                f"{source.name} has no {self.row} elements, only {', '.join(xml.seen)}."
            )
        return rows


@dataclass(frozen=True, slots=True)
class Rows(Iterator[Row | Reject]):
    """The rows of a file, and its columns: CSV's header, or what the first rows have."""

    rows: Iterator[Row | Reject]
    columns: Sequence[str]

    def __next__(self) -> Row | Reject:
        """Return the next row or reject."""
        return next(self.rows)


def format_of(file: Path, head: bytes, chosen: FormatName | None) -> TextFormat:
    """Return the format: of a rejects file JSONL, or what was chosen, or what the name tells."""
    if head.startswith(OPENING):
        return "jsonl"
    suffix = file.suffix.lower()
    if suffix in _PACKED:
        suffix = Path(file.stem).suffix.lower()
    guess = _SUFFIXES.get(suffix) if chosen is None or chosen == "parquet" else chosen
    if guess is None:
        raise CommandError(
            f"{file} does not tell its format by its name: add --format jsonl, csv, xml or parquet."
        )
    return guess


def format_by_content(head: bytes) -> TextFormat:
    """Return the format that a file with these first bytes is most likely of."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return "xml" if start == b"<" else "jsonl" if start in {b"{", b"["} else "csv"


def delimiter_of(written: str | None) -> str | None:
    """Return the one character that ``written`` names."""
    if written is None:
        return None
    delimiter = _NAMED_DELIMITERS.get(written.lower(), written)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise CommandError(f"--delimiter {written!r} is no delimiter: name one character, or tab.")
    return delimiter


def _peeked(source: Source, rows: Iterator[Row | Reject]) -> Rows:
    first: list[Row | Reject] = []
    end = monotonic() + _PEEKED_SECONDS
    for row in islice(rows, _PEEKED):
        first.append(row)
        if source.bytes_read > _PEEKED_BYTES or monotonic() > end:
            break
    columns = dict.fromkeys(name for row in first if isinstance(row, Row) for name in row.cells)
    return Rows(chain(first, rows), list(columns))
