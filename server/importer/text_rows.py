"""Rows of CSV with a header, and of JSONL, also of the rejects file of an earlier load.

A quote that is opened and not closed makes any CSV reader take the following rows into one cell,
until some later quote ends it. Such a record breaks a rule sooner or later. Then only its lines up
to the next one that starts a well-formed row are rejected, and reading continues with that row.
"""

import csv
import io
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NoReturn

from server.errors import CommandError
from server.importer.rows import Line, Lines, Reject, Row, reject_lines
from server.importer.source import Source

MAX_RECORD_CHARACTERS = 1_000_000

csv.field_size_limit(MAX_RECORD_CHARACTERS)  # one cell holds all users of an organisation

_LOOKAHEAD = 64
"""Lines that a row may span to be recognised after a broken one."""

DELIMITERS = (",", ";", "\t", "|")
"""What a header may use without being told; of two that make as many columns, the first."""

_NEVER_CLOSED = "unexpected end of data"


def parse_record(
    text: str, columns: Sequence[str], delimiter: str = ","
) -> Mapping[str, object] | str:
    """Return the cells of one record by column, or the reason why it is none."""
    try:
        lines = io.StringIO(text, newline="\n")
        records = list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return _reason(error)
    if len(records) != 1:
        return f"the text holds {len(records)} rows instead of one"
    if len(records[0]) != len(columns):
        return _miscounted(records[0], columns)
    return dict(zip(columns, records[0], strict=True))


class CsvRows(Iterator[Row | Reject]):
    """Iterates over the rows of a file; ``columns`` are the header's cells.

    ``delimiter`` is what the header plainly uses, unless it is given. CommandError for a broken
    header; a file without any has no columns and no rows.
    """

    def __init__(self, source: Source, delimiter: str | None = None) -> None:
        self._lines = Lines(source.stream, source.encoding)
        self._again: deque[Line] = deque()
        self._taken: list[Line] = []  # the lines of the record under way
        self.delimiter = delimiter or self._sniffed()
        self._closing = _closing(self.delimiter)
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
            return self._rejected(self._taken, fault)
        return Row(self._taken[0].number, dict(zip(self.columns, cells, strict=True)))

    def _record(self) -> list[str]:
        self._taken = []
        return next(self._read(self._texts()))

    def _read(self, texts: Iterable[str]) -> Iterator[list[str]]:
        return csv.reader(texts, delimiter=self.delimiter, strict=True)

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
        return self._rejected(taken, reason)

    def _rejected(self, lines: Sequence[Line], reason: str) -> Reject:
        return reject_lines(lines, reason, self.columns, self.delimiter)

    def _starts_row(self, lines: Sequence[Line]) -> bool:
        """Tell whether ``lines`` open with a row, as far as they go."""
        if self._closing.match(lines[0].text):
            return False
        try:
            cells = next(self._read(line.text for line in lines))
        except csv.Error as error:
            return lines[-1] is self._taken[-1] and str(error) == _NEVER_CLOSED
        return len(cells) == len(self.columns)

    def _sniffed(self) -> str:
        """Return what makes most columns of the first line."""
        self._again.extend(islice(self._lines, 1))
        first = "".join(line.text for line in self._again)
        return max(DELIMITERS, key=lambda one: _width(first, one))

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
            advice = ": add --encoding, such as cp1252" if fault.endswith("not UTF-8") else ""
            raise CommandError(f"{name} has a broken header: {fault}{advice}.")
        return [cell.strip() for cell in cells]


def _width(text: str, delimiter: str) -> int:
    """Return how many columns a header has; none where the delimiter cuts through a quoted one."""
    try:
        cells = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return 0
    return 0 if any('"' in cell for cell in cells) else len(cells)


def _closing(delimiter: str) -> re.Pattern[str]:
    """Match a line whose first lone quote ends a cell: a cell's last line, not a row's first."""
    ending = re.escape(delimiter)
    return re.compile(rf'(?:[^"]|"")*[^"{ending}]"(?:{ending}|\r?\n?\Z)')


def _reason(error: csv.Error) -> str:
    message = str(error)
    if message.endswith("expected after '\"'"):
        return "a quoted cell goes on after its closing quote"
    if message.startswith("new-line character"):
        return "a carriage return stands outside quotes"
    return "a quote is opened and never closed" if message == _NEVER_CLOSED else message


def _miscounted(cells: Sequence[str], columns: Sequence[str]) -> str:
    return f"the row has {len(cells)} cells and the header {len(columns)}"


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
