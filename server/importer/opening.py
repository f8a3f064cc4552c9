"""The rows of a file, once it is known to have the columns that are asked of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.errors import CommandError
from server.importer.column_mapping import ColumnMapping
from server.importer.fitting import check_fit, preset_by_root, preset_for
from server.importer.formats import (
    FormatName,
    Layout,
    Rows,
    TextFormat,
    format_by_content,
    format_of,
)
from server.importer.parquet_rows import open_parquet
from server.importer.presets import Preset
from server.importer.rows import Reject, Row
from server.importer.source import Source, no_lines, open_source, unreadable


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
