"""Reads rows of CSV files with a header, and of JSONL files.

A load writes the rows that it rejects to a JSONL file, which this module can read too.

If a quote is not closed in CSV, the cell continues until the next quote, and contains the rows
between the two quotes. The result is not a valid row. ``CsvRows`` then searches these lines for the
next valid row. It rejects only the lines before this row, and continues with this row.
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

# The limit is large, because one cell may contain all users of an organisation.
csv.field_size_limit(MAX_RECORD_CHARACTERS)

_LOOKAHEAD = 64
"""Maximum number of lines that the reader parses when it checks whether a row starts at a line."""

DELIMITERS = (",", ";", "\t", "|")
"""The delimiters that the reader tries on the header. The reader uses the delimiter that gives the
most columns. If two delimiters give equally many columns, the reader uses the first of them."""

_NEVER_CLOSED = "unexpected end of data"


def parse_record(
    text: str, columns: Sequence[str], delimiter: str = ","
) -> Mapping[str, object] | str:
    """Return the cells of one CSV record by column.

    If the text is not one record, return the reason instead.
    """
    try:
        lines = io.StringIO(text, newline="\n")
        records = list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return _reason(error)
    if len(records) != 1:
        return f"the text has {len(records)} rows instead of one"
    if len(records[0]) != len(columns):
        return _miscounted(records[0], columns)
    return dict(zip(columns, records[0], strict=True))


class CsvRows(Iterator[Row | Reject]):
    """Iterates over the rows of a CSV file. ``columns`` are the cells of the header.

    If ``delimiter`` is None, the delimiter is found in the header: see ``DELIMITERS``. Raises
    CommandError if the header is invalid. An empty file has no columns and no rows.
    """

    def __init__(self, source: Source, delimiter: str | None = None) -> None:
        self._lines = Lines(source.stream, source.encoding)
        self._again: deque[Line] = deque()
        self._taken: list[Line] = []  # the lines of the record that is being read
        if delimiter is None:
            self._again.extend(islice(self._lines, 1))
            first = "".join(line.text for line in self._again)
            delimiter = max(DELIMITERS, key=lambda one: _width(first, one))
        self.delimiter = delimiter
        # Matches a line whose first quote (except doubled quotes) is at the end of a cell. Such a
        # cell began in an earlier line, so no row starts at the line.
        end = re.escape(delimiter)
        self._closing = re.compile(rf'(?:[^"]|"")*[^"{end}]"(?:{end}|\r?\n?\Z)')
        self.columns = self._header(source.name)

    def __next__(self) -> Row | Reject:
        """Return the next row or rejected row. Raise StopIteration after the last line."""
        cells: list[str] = []
        while not cells:
            try:
                cells = self._record()
            except csv.Error as error:
                return self._salvage(_reason(error))
        if len(cells) != len(self.columns):
            return self._salvage(_miscounted(cells, self.columns))
        if fault := self._fault():
            return reject_lines(self._taken, fault, self.columns, self.delimiter)
        return Row(self._taken[0].number, dict(zip(self.columns, cells, strict=True)))

    def _record(self) -> list[str]:
        self._taken = []
        return next(self._read(self._texts()))

    def _read(self, texts: Iterable[str]) -> Iterator[list[str]]:
        return csv.reader(texts, delimiter=self.delimiter, strict=True)

    def _texts(self) -> Iterator[str]:
        """Yield the lines that ``_salvage`` has put back, then the next lines of the file.

        The lines are also collected in ``_taken``.
        """
        size = 0
        while line := self._again.popleft() if self._again else next(self._lines, None):
            self._taken.append(line)
            size += len(line.text)
            if line.cut:
                raise csv.Error(line.fault)
            if size > MAX_RECORD_CHARACTERS:
                raise csv.Error(f"the row is longer than {MAX_RECORD_CHARACTERS:,} characters")
            yield line.text

    def _fault(self) -> str | None:
        return next((line.fault for line in self._taken if line.fault), None)

    def _salvage(self, reason: str) -> Reject:
        """Reject the lines that were read.

        If a valid row starts at one of these lines, but not at the first line, reject only the
        lines before that row. Put the other lines back, so that they are read again.
        """
        taken = self._taken
        if len(taken) > 1:
            reason += f" (found at line {taken[-1].number})"
        for number in range(1, len(taken)):
            if self._starts_row(taken[number : number + _LOOKAHEAD]):
                self._again.extendleft(reversed(taken[number:]))
                taken = taken[:number]
                break
        return reject_lines(taken, reason, self.columns, self.delimiter)

    def _starts_row(self, lines: Sequence[Line]) -> bool:
        """Return whether a row starts at the first line.

        If ``lines`` end with the last line that was read, the row may continue in later lines.
        """
        if self._closing.match(lines[0].text):
            return False
        try:
            cells = next(self._read(line.text for line in lines))
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
            advice = ": add --encoding, such as cp1252" if fault.endswith("not UTF-8") else ""
            raise CommandError(f"{name} has a broken header: {fault}{advice}.")
        return [cell.strip() for cell in cells]


def _width(text: str, delimiter: str) -> int:
    """Return the number of columns in a header, or 0 if the delimiter is inside a quoted name."""
    try:
        cells = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return 0
    return 0 if any('"' in cell for cell in cells) else len(cells)


def _reason(error: csv.Error) -> str:
    message = str(error)
    if message.endswith("expected after '\"'"):
        return "a quoted cell continues after its closing quote"
    if message.startswith("new-line character"):
        return "a carriage return is outside quotes"
    return "a quote is opened and never closed" if message == _NEVER_CLOSED else message


def _miscounted(cells: Sequence[str], columns: Sequence[str]) -> str:
    return f"the row has {len(cells)} cells and the header {len(columns)}"


_ENVELOPE = {"line", "reason", "row", "raw", "columns", "delimiter", "cut"}
"""The members of an object in a rejects file: see ``rows``."""


class _NotARowError(Exception):
    """A text is not a row. The error's message is the reason."""


def read_jsonl(source: Source) -> Iterator[Row | Reject]:
    """Return an iterator with a row or a rejected row for each line that is not blank.

    Raise CommandError for a JSON array.
    """
    if source.head.lstrip().startswith(b"["):
        raise CommandError(
            f"{source.name} is one JSON array: use `jq -c '.[]'` to write each object on a line."
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
        raise _NotARowError(
            "broken JSON: it has too many levels, or a number that is too long"
        ) from None
    if not isinstance(found, dict):
        raise _NotARowError("the line is not a JSON object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise _NotARowError(f"broken JSON: {constant} is not a JSON value")


def _unwrapped(line: Line, entry: Mapping[str, object]) -> Row | Reject:
    """Return the row in a line of a rejects file. If it is still invalid, return a rejected row."""
    row, raw, columns = entry.get("row"), entry.get("raw"), entry.get("columns")
    delimiter = str(entry.get("delimiter", ","))
    if isinstance(row, dict):
        return Row(line.number, row)
    if not isinstance(raw, str) or not isinstance(columns, list | None) or entry.get("cut"):
        raise _NotARowError("the entry of the rejects file has no complete row")
    names = None if columns is None else [str(column) for column in columns]
    cells: Mapping[str, object] | str
    if len(delimiter) != 1:
        cells = "delimiter is not one character"
    elif any(character == "\0" or "\ud800" <= character <= "\udfff" for character in raw):
        cells = "raw contains a NUL byte, or bytes that are not UTF-8 (\\udc80 to \\udcff)"
    elif names is not None:
        cells = parse_record(raw, names, delimiter)
    else:
        try:
            cells = _object(raw)
        except _NotARowError as error:
            cells = str(error)
    if isinstance(cells, str):
        return Reject(line.number, cells, raw=raw, columns=names, delimiter=delimiter)
    return Row(line.number, cells)
