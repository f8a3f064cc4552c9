"""Reports what a load does not store: unused columns, left-out rows, rows with the same id."""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any, TypeVar

from dal.kinds.field_parsers import shown
from features.loading import parsers
from features.loading.column_mapping import ColumnMapping, listed
from features.loading.loaded import CommentState, LoadedComment
from features.loading.rows import Reject, Row
from server.errors import CommandError
from server.sentences import counted

_ENTRY = struct.Struct("qqq")
_PARTS = 32
_MEMORY = 1_000_000
"""Maximum bytes of memory for one part of ``SharedIds``. A larger part moves to a temporary
file."""


class SharedIds:
    """Finds rows that have the same id but different content.

    The class stores 24 bytes per row: 64-bit hashes of the id and of the content, and the line
    number. The hash of the id selects one of 32 parts. ``find`` loads one part after the other, so
    only one part must fit in memory. Different ids with the same hash would be reported wrongly,
    but this is rare: it happens in about one of 4,000 files with 100 million ids each.
    """

    def __init__(self) -> None:
        self._parts = [SpooledTemporaryFile(_MEMORY) for _ in range(_PARTS)]  # noqa: SIM115 - see close

    def add(self, identity: str, thing: object, line: int) -> None:
        """Store a row's hashes and line number. Raise CommandError if the disk has no space."""
        key = hash(identity)
        try:
            self._parts[key % _PARTS].write(_ENTRY.pack(key, line, hash(repr(thing))))
        except OSError as error:
            raise CommandError(
                f"{gettempdir()} has no space for the ids of the file ({error.strerror}): name "
                "another directory in TMPDIR."
            ) from error

    def find(self) -> Iterator[list[int]]:
        """For each id whose rows differ in content, yield the line numbers of all these rows."""
        for part in self._parts:
            part.seek(0)
            entries = sorted(_ENTRY.iter_unpack(part.read()))
            for _, group in groupby(entries, key=lambda entry: entry[0]):
                rows = list(group)
                if len({content for _, _, content in rows}) > 1:
                    yield [line for _, line, _ in rows]

    def close(self) -> None:
        """Delete the temporary files."""
        for part in self._parts:
            part.close()


Key = TypeVar("Key")

_SHOWN_IDS = 5
_COUNTED = 1_000
"""Maximum number of unused columns whose values are counted, and of different cells whose left-out
rows are counted. Without this limit, a JSONL file with different column names in each row would
fill the memory."""


class Losses:
    """Counts the rows and values that a load does not store, and the states of comments.

    ``sentences`` reports the numbers.
    """

    def __init__(self, mapping: ColumnMapping[Any]) -> None:
        preset = mapping.preset
        self._keep, self._leave_out = (
            {column: {cell.lower() for cell in cells} for column, cells in rows.items()}
            for rows in (preset.keep, preset.leave_out)
        )
        self._nouns = {
            column: noun for noun, columns in preset.no_place.items() for column in columns
        }
        hashed = {*mapping.id_from, *mapping.author_from} - self._nouns.keys()
        self._read = {*mapping.columns.values(), *preset.keep, *preset.leave_out, *hashed}
        self._photos = mapping.columns.get("photos", "")
        self._invalid_photos, self._invalid_photo = 0, ""
        self._values: Counter[str] = Counter()
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._states: Counter[str] = Counter()
        self._ids = SharedIds()
        self.shared: Sequence[Sequence[int]] = ()
        """For each id whose rows differ, the line numbers of these rows. ``sentences`` sets it."""

    def kept(self, rows: Iterator[Row | Reject]) -> Iterator[Row | Reject]:
        """Yield the rows, except the rows that the preset leaves out."""
        for row in rows:
            if isinstance(row, Reject) or not self._is_left_out(row.cells):
                yield row

    def loaded(self, row: Row, identity: str, thing: object) -> None:
        """Count the state of a valid row, and the values in columns that are not loaded.

        ``thing`` is the object that the mapping has made from the row, and ``identity`` is its id.
        The method also stores the row's id, so that ``sentences`` can find rows with the same id.
        """
        self._ids.add(identity, thing, row.line)
        if isinstance(thing, LoadedComment) and "state" in thing.given:
            self._states[thing.given["state"]] += 1
        photos = row.cells.get(self._photos) or []
        for entry, error in parsers.invalid_photos("photos", photos):
            self._invalid_photos += 1
            first = f"{shown(entry)} in line {row.line:,}: {error}"
            self._invalid_photo = self._invalid_photo or first
        for column, cell in row.cells.items():
            if column not in self._read and _is_filled(cell):
                _count(self._values, column)

    @property
    def unused(self) -> Sequence[str]:
        """The columns that have values, but that neither the mapping nor the preset uses."""
        return [column for column in self._values if column not in self._nouns]

    def sentences(self) -> Iterator[str]:
        """Yield the lines of the report. Call this method after all rows have been read."""
        if self._states:
            counts = (f"{self._states[state]:,} {state}" for state in CommentState)
            yield f"States: {', '.join(counts)}."
        for (column, cell), count in self._left_out.items():
            yield f"{counted(count, 'row')} left out: {column} is {cell}."
        dropped: Counter[str] = Counter()
        for column, count in self._values.items():
            if column in self._nouns:
                dropped[self._nouns[column]] += count
        for noun, count in dropped.items():
            yield f"{noun}: {counted(count, 'value')} dropped: the preset does not load them."
        if self._invalid_photos:
            photos = counted(self._invalid_photos, "photo")
            yield f"{photos} dropped, such as {self._invalid_photo}"
        self.shared = sorted(self._ids.find())
        if self.shared:
            ids, rows = counted(len(self.shared), "id"), sum(map(len, self.shared))
            shown = self.shared[:_SHOWN_IDS]
            lines = "; ".join(listed([f"{line:,}" for line in one]) for one in shown)
            more = "; …" if len(self.shared) > _SHOWN_IDS else ""
            yield (
                f"{rows:,} rows share {ids} but differ (lines {lines}{more}): only the last row of "
                "each id is kept. Map another column to the id, or add columns to --id-from."
            )

    def close(self) -> None:
        """Delete the temporary files."""
        self._ids.close()

    def _is_left_out(self, cells: Mapping[str, object]) -> bool:
        for column in (*self._keep, *self._leave_out):
            cell = str(cells.get(column) or "").strip()
            kept = self._keep.get(column, {cell.lower()})
            if cell and (
                cell.lower() not in kept or cell.lower() in self._leave_out.get(column, ())
            ):
                _count(self._left_out, (column, cell))
                return True
        return False


def _count(counts: Counter[Key], key: Key) -> None:
    if key in counts or len(counts) < _COUNTED:
        counts[key] += 1


def _is_filled(cell: object) -> bool:
    """Return whether the report counts this cell if its column is not loaded.

    For example, the report does not count zero votes and an empty list of photos.
    """
    if isinstance(cell, list):
        return any(map(_is_filled, cell))
    return cell not in (None, "", 0, "0", False, "false", {})
