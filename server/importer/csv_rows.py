"""CSV with a header row, strictly read, so that a stray quote costs its own row and no other.

A quote that is opened and not closed makes any CSV reader take the following rows into one cell,
until some later quote ends it. Such a record breaks a rule sooner or later; then only its lines up
to the next one that starts a well-formed row are rejected, and reading goes on from that one.
"""

import csv
import io
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from server.errors import CommandError
from server.importer.lines import Line
from server.importer.rows import Reject, Row, reject_lines
from server.importer.source import Source

MAX_RECORD_CHARACTERS = 1_000_000

_LOOKAHEAD = 64
"""Lines that a row may span to be recognised after a broken one."""

_CLOSING = re.compile(r'(?:[^"]|"")*[^",]"(?:,|\r?\n?\Z)')
"""A line whose first lone quote ends a cell was the last line of a cell, not the start of a row."""

_NEVER_CLOSED = "unexpected end of data"
_REASONS = {
    _NEVER_CLOSED: "a quote is opened and never closed",
    "',' expected after '\"'": "a quoted cell goes on after its closing quote",
    f"field larger than field limit ({csv.field_size_limit()})": (
        f"a cell is over {csv.field_size_limit():,} characters long: is a quote not closed?"
    ),
}


def parse_record(text: str, columns: Sequence[str]) -> Mapping[str, object] | str:
    """Return the cells of one record by column, or the reason why it is none."""
    try:
        records = list(csv.reader(io.StringIO(text, newline="\n"), strict=True))
    except csv.Error as error:
        return _reason(error)
    if len(records) != 1:
        return f"the text holds {len(records)} rows instead of one"
    if len(records[0]) != len(columns):
        return _miscounted(records[0], columns)
    return dict(zip(columns, records[0], strict=True))


class CsvRows(Iterator[Row | Reject]):
    """Iterates over the rows of a file; ``columns`` are the header's cells.

    CommandError for a broken header; a file without any has no columns and no rows.
    """

    def __init__(self, source: Source) -> None:
        self._lines = source.lines
        self._again: deque[Line] = deque()
        self._taken: list[Line] = []  # the lines of the record under way
        self.columns = self._header(source.name)

    def __next__(self) -> Row | Reject:
        """Return the next row or reject; StopIteration after the last line."""
        cells: list[str] = []
        while not cells:
            try:
                cells = self._record()
            except csv.Error as error:
                return self._salvage(_reason(error))
        if len(cells) != len(self.columns):
            return self._salvage(_miscounted(cells, self.columns))
        if fault := self._fault():
            return reject_lines(self._taken, fault, self.columns)
        return Row(self._taken[0].number, dict(zip(self.columns, cells, strict=True)))

    def _record(self) -> list[str]:
        self._taken = []
        return next(csv.reader(self._texts(), strict=True))

    def _texts(self) -> Iterator[str]:
        size = 0
        for line in self._following():
            self._taken.append(line)
            size += len(line.text)
            if line.cut:
                raise csv.Error(line.fault)
            if size > MAX_RECORD_CHARACTERS:
                raise csv.Error(f"the row is over {MAX_RECORD_CHARACTERS:,} characters long")
            yield line.text

    def _following(self) -> Iterator[Line]:
        while self._again:
            yield self._again.popleft()
        yield from self._lines

    def _fault(self) -> str | None:
        return next((line.fault for line in self._taken if line.fault), None)

    def _salvage(self, reason: str) -> Reject:
        """Reject the record's first line, and those after it that start no row."""
        taken = self._taken
        if len(taken) > 1:
            reason += f" (read on to line {taken[-1].number})"
        for number in range(1, len(taken)):
            if self._starts_row(taken[number : number + _LOOKAHEAD]):
                self._again.extendleft(reversed(taken[number:]))
                taken = taken[:number]
                break
        return reject_lines(taken, reason, self.columns)

    def _starts_row(self, lines: Sequence[Line]) -> bool:
        """Tell whether ``lines`` open with a row, as far as they go."""
        if _CLOSING.match(lines[0].text):
            return False
        try:
            cells = next(csv.reader((line.text for line in lines), strict=True))
        except csv.Error as error:
            return lines[-1] is self._taken[-1] and str(error) == _NEVER_CLOSED
        return len(cells) == len(self.columns)

    def _header(self, name: str) -> list[str]:
        cells: list[str] = []
        try:
            while not cells:
                cells = self._record()
        except StopIteration:
            return []
        except csv.Error as error:
            raise CommandError(f"{name} has a broken header: {_reason(error)}.") from error
        if fault := self._fault():
            raise CommandError(f"{name} has a broken header: {fault}.")
        return [cell.strip() for cell in cells]


def _reason(error: csv.Error) -> str:
    message = str(error)
    if message.startswith("new-line character"):
        return "a carriage return stands outside quotes"
    return _REASONS.get(message, message)


def _miscounted(cells: Sequence[str], columns: Sequence[str]) -> str:
    return f"the row has {len(cells)} cells and the header {len(columns)}"
