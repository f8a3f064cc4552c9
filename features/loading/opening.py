"""Opens a file and reads its rows: finds the format, and checks that the file fits the mapping."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import Any

from dal.kinds.item_kind import Field
from dal.table.errors import InvalidArgumentError
from features.loading.column_mapping import (
    NO_PRESET,
    ColumnMapping,
    FormatName,
    Preset,
    TextFormat,
    listed,
    make_column_mapping,
    presets,
)
from features.loading.kind import COMMENTS
from features.loading.parquet_rows import open_parquet
from features.loading.rows import Reject, Row
from features.loading.source import OPENING, Counted, Source, open_source, source_of, unreadable
from features.loading.text_rows import CsvRows, read_jsonl
from features.loading.xml_rows import XmlRows
from server.errors import CommandError

_SUFFIXES: dict[str, TextFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".xml": "xml",
}
_PACKED = {".gz", ".zst"}
_NAMES: dict[TextFormat, str] = {"csv": "CSV", "jsonl": "JSON", "xml": "XML"}
_ONLY_LINES = "--skip-lines is only for CSV and JSONL: remove it."
_PEEKED = 50
_PEEKED_BYTES = 1_000_000
_PEEKED_SECONDS = 1.0
"""A JSONL or XML file has no header, so its columns are found in its first rows. These are the
maximum numbers of rows, bytes and seconds for this search."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open file and its rows. ``empty`` is true if the file has no bytes."""

    source: Source
    rows: Iterator[Row | Reject]
    empty: bool = False


@contextmanager
def open_file(
    file: Path, mapping: ColumnMapping[Any], chosen: FormatName | None = None
) -> Iterator[Opened]:
    """Open a file. If ``chosen`` is None, the preset or the file's name decides the format.

    Raises CommandError in four cases: the file cannot be read, it lacks columns, its content does
    not have the preset's format, or its name shows no format. If another preset fits the file, the
    message names that preset.
    """
    preset = mapping.preset
    if (chosen or preset.format or file.suffix.lower().removeprefix(".")) == "parquet":
        if preset.skip_lines:
            raise CommandError(_ONLY_LINES)
        with open_parquet(file) as (columns, columnar):
            mapping.check_header(str(file), columns)
            no_text = source_of(str(file), Counted(iter(())), None)
            yield Opened(no_text, columnar)
        return
    with open_source(file, preset.encoding) as source:
        if not source.head:
            yield Opened(source, iter(()), empty=True)
            return
        format_ = _format(file, source.head, chosen or preset.format)
        try:
            if chosen is None and preset.name and not preset.skip_lines:
                _check_format(source, format_, preset)
            rejects = source.head.startswith(OPENING)
            # The rejects file of a file with such lines does not have them.
            layout = replace(preset, skip_lines=0) if rejects else preset
            rows, columns = rows_of(source, format_, layout, _resembles(mapping))
        except OSError as error:
            raise unreadable(source.name, error) from error
        if columns:
            _check_fit(source.name, columns, format_, mapping)
        if format_ == "csv":
            mapping.check_header(source.name, columns)
        # The rejects of a CSV file are JSONL, but their rows have all columns of the file.
        omits = (chosen or preset.format or (None if rejects else format_)) in {"jsonl", "xml"}
        if format_ != "csv":
            known = {*preset.known(), *mapping.columns.values()} if format_ == "jsonl" else ()
            rows = _in_columns(rows, known, mapping.declared if omits else ())
        yield Opened(source, rows)


def _format(file: Path, head: bytes, chosen: FormatName | None) -> TextFormat:
    """Return ``chosen``. If ``chosen`` is None, return the format that the file's name shows.

    For a rejects file, ignore ``chosen``, because such a file is always JSONL.
    """
    if head.startswith(OPENING):
        return "jsonl"
    if chosen is not None and chosen != "parquet":
        return chosen
    suffix = file.suffix.lower()
    if suffix in _PACKED:
        suffix = Path(file.stem).suffix.lower()
    if suffix not in _SUFFIXES:
        raise CommandError(
            f"The name of {file} does not show its format: add --format jsonl, csv, xml or parquet."
        )
    return _SUFFIXES[suffix]


def format_by_content(head: bytes) -> TextFormat:
    """Guess the format from the first bytes of a file."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return "xml" if start == b"<" else "jsonl" if start in {b"{", b"["} else "csv"


def _resembles(mapping: ColumnMapping[Any]) -> Callable[[Mapping[str, object]], bool]:
    """Return a function that returns whether cells are probably those of a row.

    The function checks the fields that refuse ordinary words, such as dates and ratings. Half of
    them must be valid, because a row with an invalid value is still a row.
    """

    def is_valid(one: Field, cell: object) -> bool:
        try:
            one.parse(one.name, cell)
        except InvalidArgumentError:
            return False
        return True

    checked = {
        column: (one, one.required and one.name not in mapping.preset.default)
        for one in mapping.kind.fields
        if (column := mapping.columns.get(one.name)) is not None
        and one.name not in mapping.values
        and not is_valid(one, "ordinary words")
    }

    def resembles(cells: Mapping[str, object]) -> bool:
        valid = [
            is_valid(one, cells[column])
            for column, (one, needed) in checked.items()
            if column in cells and (needed or cells[column])
        ]
        return 2 * sum(valid) >= len(valid)

    return resembles


def rows_of(
    source: Source,
    format_: TextFormat,
    layout: Preset = NO_PRESET,
    resembles: Callable[[Mapping[str, object]], bool] = lambda _: True,
) -> tuple[Iterator[Row | Reject], Sequence[str]]:
    """Return the rows and the columns of ``source``.

    A CSV file has its columns in the header. In other formats, the first rows show the columns.
    ``layout`` has the delimiter of CSV, the path of the XML elements that are rows, and the number
    of lines before the rows. ``resembles`` is for ``CsvRows``. Raises CommandError for an invalid
    delimiter or header, for a JSON array, and for XML without a path, without elements at the path,
    or with lines to skip.
    """
    if format_ == "csv":
        csv = CsvRows(source, layout, resembles)
        return csv, csv.columns
    if format_ == "jsonl":
        return _peeked(source, read_jsonl(source, layout.skip_lines))
    if layout.skip_lines:
        raise CommandError(_ONLY_LINES)
    if (path := layout.row) is None:
        raise CommandError(
            f"{source.name} is XML, and no preset names the elements that are its rows: add "
            "`--preset bazaarvoice`, or a preset of your own with `row`."
        )
    xml = XmlRows(source, path)
    rows, columns = _peeked(source, iter(xml))
    if not columns:
        raise CommandError(f"{source.name} has no {path} elements, only {', '.join(xml.seen)}.")
    return rows, columns


def _peeked(
    source: Source, rows: Iterator[Row | Reject]
) -> tuple[Iterator[Row | Reject], Sequence[str]]:
    first: list[Row | Reject] = []
    end = monotonic() + _PEEKED_SECONDS
    for row in islice(rows, _PEEKED):
        first.append(row)
        if source.content.count > _PEEKED_BYTES or monotonic() > end:
            break
    columns = dict.fromkeys(
        name
        for row in first
        if isinstance(row, Row)
        for column, cell in row.cells.items()
        for name in _names(column, cell)
    )
    return chain(first, rows), list(columns)


def _names(column: str, cell: object) -> Sequence[str]:
    """Return the column and, if the cell is a JSON object, ``column/name`` for each member."""
    return [column, *(f"{column}/{name}" for name in cell)] if isinstance(cell, dict) else [column]


def _in_columns(
    rows: Iterator[Row | Reject], columns: Collection[str], declared: Collection[str]
) -> Iterator[Row | Reject]:
    """Yield the rows. Replace a JSON object by its members if ``columns`` names a member.

    For example, if ``author/name`` is in ``columns``, each member of the object in the column
    ``author`` gets its own column. An object without a named member stays in its cell.

    A row without one of the columns ``declared`` gets an empty cell there: JSON and XML often leave
    out what is empty, for example a reply that the shop has deleted.
    """
    outer = {column.partition("/")[0] for column in columns if "/" in column}
    for row in rows:
        if isinstance(row, Reject):
            yield row
            continue
        cells: dict[str, object] = dict.fromkeys(declared)
        for column, cell in row.cells.items():
            if column in outer and isinstance(cell, dict):
                cells |= {f"{column}/{name}": value for name, value in cell.items()}
            else:
                cells[column] = cell
        yield replace(row, cells=cells)


def _check_format(source: Source, format_: TextFormat, preset: Preset) -> None:
    """Raise CommandError if the format of the content differs from the preset's format."""
    found = format_by_content(source.head)
    if found == format_:
        return
    fitting = None
    if found == "xml":
        for one in presets().values():
            if one.row is not None and f"<{one.row.partition('/')[0]}".encode() in source.head:
                fitting = one.name
    else:
        fitting = preset_for(rows_of(source, found)[1], found)
    instead = f"add `--preset {fitting}` instead" if fitting else "remove --preset or name another"
    raise CommandError(
        f"The file {source.name} is {_NAMES[found]}, but --preset {preset.name} is for "
        f"{_NAMES[format_]}: "
        f"{instead}."
    )


def _check_fit(
    name: str, columns: Sequence[str], format_: TextFormat, mapping: ColumnMapping[Any]
) -> None:
    """Raise CommandError if required columns are missing and one of these conditions is true.

    - A preset is chosen.
    - A preset that is not chosen fits the file. The message names that preset.
    - A column of ``--id-from`` is missing.

    In other cases, ``check_header`` raises the error for CSV, and the rows of JSONL and XML are
    rejected later.
    """
    missing = mapping.missing(columns)
    if not missing:
        return
    fitting = preset_for(columns, format_)
    if preset := mapping.preset.name:
        lacks = listed([*dict.fromkeys(repr(column) for _, column in missing)])
        instead = f"Add `--preset {fitting}` instead" if fitting else "Name its columns with --map"
        raise CommandError(
            f"{name} does not fit --preset {preset}: it has no {lacks}, only "
            f"{listed(columns)}. {instead}."
        )
    if fitting:
        raise CommandError(
            f"{name} has no column {missing[0][1]!r} for {missing[0][0]}, but it has the columns "
            f"of a known export: add `--preset {fitting}`."
        )
    if absent := [column for _, column in missing if column in mapping.id_from]:
        raise CommandError(f"{name} has no {absent[0]!r} for --id-from, only {listed(columns)}.")


def preset_for(columns: Sequence[str], format_: TextFormat) -> str | None:
    """Return the name of the preset that fits a file with these columns, or None.

    If several presets fit, return the preset that names the largest number of these columns.
    """
    fitting = [
        preset
        for preset in presets().values()
        if preset.format == format_
        and not make_column_mapping(COMMENTS, [], [], preset).missing(columns)
    ]
    best = max(fitting, key=lambda one: len(one.known() & {*columns}), default=None)
    return None if best is None else best.name
