"""Opens a file as rows: finds its format, and checks that it has the columns of the mapping."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import Any

from server.errors import CommandError
from server.importer.column_mapping import (
    ColumnMapping,
    FormatName,
    Preset,
    TextFormat,
    listed,
    make_column_mapping,
    presets,
)
from server.importer.file_kinds import FILE_KINDS, Thing
from server.importer.parquet_rows import open_parquet
from server.importer.rows import Reject, Row
from server.importer.source import OPENING, Source, no_lines, open_source, unreadable
from server.importer.text_rows import CsvRows, read_jsonl
from server.importer.xml_rows import XmlRows

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


def check_fit(
    name: str,
    columns: Sequence[str],
    format_: TextFormat,
    preset: Preset,
    mapping: ColumnMapping[Thing],
) -> None:
    """Raise CommandError where a preset's columns are not there, or those of an id.

    It names a preset that fits, also where none was chosen and the columns do not do without.
    """
    missing = mapping.missing(columns)
    if not missing:
        return
    fitting = preset_for(columns, format_)
    if preset.name:
        lacks = listed([*dict.fromkeys(repr(column) for _, column in missing)])
        instead = f"add `--preset {fitting}` instead" if fitting else "name its columns with --map"
        raise CommandError(
            f"{name} does not fit --preset {preset.name}: it has no {lacks}, only "
            f"{listed(columns)}; {instead}."
        )
    if fitting:
        raise CommandError(
            f"{name} has no column {missing[0][1]!r} for {missing[0][0]}, but those of an export "
            f"that is known: add `--preset {fitting}`."
        )
    if absent := [column for _, column in missing if column in mapping.id_from]:
        raise CommandError(f"{name} has no {absent[0]!r} for --id-from, only {listed(columns)}.")


def preset_for(columns: Sequence[str], format_: TextFormat) -> str | None:
    """Return the preset that reads a file with these columns, the one that knows most of them."""
    fitting = [
        preset
        for preset in presets().values()
        if preset.format == format_ and _fits(preset, columns)
    ]
    best = max(fitting, key=lambda one: len(one.known() & {*columns}), default=None)
    return None if best is None else best.name


def _fits(preset: Preset, columns: Sequence[str]) -> bool:
    kind = FILE_KINDS[preset.kind or "comments"]
    return not make_column_mapping(kind, [], [], preset).missing(columns)


def preset_by_root(head: bytes) -> str | None:
    """Return the preset of XML whose outermost element stands in the first bytes of a file."""
    for preset in presets().values():
        if preset.row is not None and f"<{preset.row.partition('/')[0]}".encode() in head:
            return preset.name
    return None


@dataclass(frozen=True, slots=True)
class Opened:
    """An open file and its rows."""

    source: Source
    rows: Iterator[Row | Reject]
    empty: bool = False


@contextmanager
def open_file(
    file: Path, preset: Preset, mapping: ColumnMapping[Any], told: FormatName | None
) -> Iterator[Opened]:
    """Open a file whose format is as ``told``, or as of the preset, or of the file's name.

    Raises CommandError where it cannot be read, or does not fit; it names a preset that does.
    """
    if (told or preset.format or file.suffix.lower().removeprefix(".")) == "parquet":
        with open_parquet(file) as columnar:
            mapping.check_header(str(file), columnar.columns)
            yield Opened(no_lines(str(file)), columnar)
        return
    with open_source(file, preset.encoding) as source:
        if not source.head:
            yield Opened(source, iter(()), empty=True)
            return
        format_ = format_of(file, source.head, told or preset.format)
        try:
            rows = _rows(source, format_, preset, strict=told is None)
        except OSError as error:
            raise unreadable(source.name, error) from error
        if rows.columns:
            check_fit(source.name, rows.columns, format_, preset, mapping)
        if format_ == "csv":
            mapping.check_header(source.name, rows.columns)
        yield Opened(source, rows)


def _rows(source: Source, format_: TextFormat, preset: Preset, *, strict: bool) -> Rows:
    """Return the rows; a preset of another format than the content's is refused if ``strict``."""
    found = format_by_content(source.head)
    if not strict or not preset.name or found == format_:
        return Layout(format_, preset.delimiter, preset.row).open(source)
    if found == "xml":
        fitting = preset_by_root(source.head)
    else:
        fitting = preset_for(Layout(found).open(source).columns, found)
    instead = f"add `--preset {fitting}` instead" if fitting else "leave it out, or name another"
    raise CommandError(
        f"{source.name} is {_NAMES[found]}, and --preset {preset.name} reads {_NAMES[format_]}: "
        f"{instead}."
    )


_NAMES: dict[TextFormat, str] = {"csv": "CSV", "jsonl": "JSON", "xml": "XML"}
