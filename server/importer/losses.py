"""Reports what a load drops: columns, hidden rows, and rows that share an id."""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any, TypeVar

from server.errors import CommandError
from server.importer.column_mapping import ColumnMapping, Preset, listed
from server.importer.rows import Reject, Row

_ENTRY = struct.Struct("qqq")
_PARTS = 32
_MEMORY = 1_000_000
"""Bytes of a part that are kept in memory; beyond, they go to a temporary file."""


class SharedIds:
    """Remembers 24 bytes of each row; the parts are looked through one by one at the end.

    Ids are told apart by 64 bits of hash: of 100 million ids, one pair is taken for one id in a
    thousand files.
    """

    def __init__(self) -> None:
        self._parts = [SpooledTemporaryFile(_MEMORY) for _ in range(_PARTS)]  # noqa: SIM115 - see close

    def add(self, identity: str, thing: object, line: int) -> None:
        """Note what row stood at ``line``."""
        key = hash(identity)
        try:
            self._parts[key % _PARTS].write(_ENTRY.pack(key, line, hash(repr(thing))))
        except OSError as error:
            raise CommandError(
                f"{gettempdir()} has no room for the ids of the file ({error.strerror}): name "
                "another directory in TMPDIR."
            ) from error

    def find(self) -> Iterator[list[int]]:
        """Yield the lines of each id that stands in different rows; none of rows that repeat."""
        for part in self._parts:
            part.seek(0)
            entries = sorted(_ENTRY.iter_unpack(part.read()))
            for _, group in groupby(entries, key=lambda entry: entry[0]):
                rows = list(group)
                if len({content for _, _, content in rows}) > 1:
                    yield [line for _, line, _ in rows]

    def close(self) -> None:
        """Free what was remembered."""
        for part in self._parts:
            part.close()


Key = TypeVar("Key")

_SHOWN_IDS = 5
_COUNTED = 1_000
"""Columns, and states of rows: a file whose names are values must not fill the memory."""


class Losses:
    """Counts while rows are read; ``sentences`` tells it at the end."""

    def __init__(self, preset: Preset, mapping: ColumnMapping[Any]) -> None:
        self._keep = {
            column: {cell.lower() for cell in cells} for column, cells in preset.keep.items()
        }
        self._places = {
            column: what for what, columns in preset.no_place.items() for column in columns
        }
        hashed = {column for column in mapping.id_from if column not in self._places}
        self._read = {*mapping.columns.values(), *preset.keep, *hashed}
        self._values: Counter[str] = Counter()
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._shared = SharedIds()
        self._shared_lines: list[list[int]] | None = None

    def kept(self, rows: Iterator[Row | Reject]) -> Iterator[Row | Reject]:
        """Yield the rows but those whose state says that they are not to be seen."""
        for row in rows:
            if isinstance(row, Reject) or not self._is_left_out(row.cells):
                yield row

    def loaded(self, row: Row, identity: str, thing: object) -> None:
        """Count what ``thing`` does not hold of the row that it was made of."""
        self._shared.add(identity, thing, row.line)
        for column, cell in row.cells.items():
            if column not in self._read and _says_something(cell):
                _count(self._values, column)

    @property
    def unused(self) -> Sequence[str]:
        """Columns with values that nothing was made of, and that no name is known for."""
        return [column for column in self._values if column not in self._places]

    @property
    def no_place(self) -> Mapping[str, int]:
        """How many values there were of each thing that no field holds yet."""
        counts: Counter[str] = Counter()
        for column, count in self._values.items():
            if column in self._places:
                counts[self._places[column]] += count
        return counts

    @property
    def left_out(self) -> Mapping[tuple[str, str], int]:
        """Rows that were left out, by column and cell."""
        return self._left_out

    @property
    def shared(self) -> Sequence[Sequence[int]]:
        """The lines of each id that different rows have; ask once all rows are read."""
        if self._shared_lines is None:
            self._shared_lines = sorted(self._shared.find())
        return self._shared_lines

    def sentences(self) -> Iterator[str]:
        """Yield a line for each kind of loss that there was."""
        for (column, cell), count in self._left_out.items():
            yield f"{counted(count, 'row')} left out: {column} is {cell}."
        for what, count in self.no_place.items():
            verb = "has" if count == 1 else "have"
            yield f"{what}: {counted(count, 'value')} {verb} no place yet."
        if shared := self.shared:
            rows = sum(map(len, shared))
            lines = "; ".join(listed([f"{line:,}" for line in one]) for one in shared[:_SHOWN_IDS])
            more = "; …" if len(shared) > _SHOWN_IDS else ""
            stands = "stands" if len(shared) == 1 else "stand"
            yield (
                f"{counted(len(shared), 'id')} {stands} in {rows:,} rows that differ "
                f"(lines {lines}{more}): only the last row of an id stays. Perhaps another column "
                "is the id, or --id-from needs more of them."
            )

    def close(self) -> None:
        """Free what was remembered of the rows."""
        self._shared.close()

    def _is_left_out(self, cells: Mapping[str, object]) -> bool:
        for column, shown in self._keep.items():
            cell = str(cells.get(column) or "").strip()
            if cell and cell.lower() not in shown:
                _count(self._left_out, (column, cell))
                return True
        return False


def counted(count: int, what: str) -> str:
    """Return the number with its noun."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _count(counts: Counter[Key], key: Key) -> None:
    if key in counts or len(counts) < _COUNTED:
        counts[key] += 1


def _says_something(cell: object) -> bool:
    """Tell whether leaving ``cell`` out loses anything: no votes, and no photos, are nothing."""
    if isinstance(cell, list):
        return any(map(_says_something, cell))
    return cell not in (None, "", 0, "0", False, "false", {})
