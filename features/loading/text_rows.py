"""Reads rows of CSV files with a header, and of JSONL files.

A load writes the rows that it rejects to a JSONL file, which this module can read too.

If a quote is not closed in CSV, the cell continues until the next quote, and contains the rows
between the two quotes. So ``CsvRows`` searches the lines of a malformed record, and of a text with
several lines, for the next row. It rejects only the lines before this row, and continues with this
row.

A file that was cut in its last cell, without quotes, looks like a file without a line end after its
last row. Some programs write such files, so the last row is loaded.
"""

import csv
import io
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Literal, NoReturn

from features.loading.column_mapping import NO_PRESET, Preset
from features.loading.rows import Line, Reject, Row, read_lines, reject_lines
from features.loading.source import Source
from server.errors import CommandError

MAX_RECORD_CHARACTERS = 1_000_000

# The limit is large, because one cell may contain all users of an organisation.
csv.field_size_limit(MAX_RECORD_CHARACTERS)

_LOOKAHEAD = 64
"""Maximum number of lines that the reader parses when it checks whether a row starts at a line."""

DELIMITERS = (",", ";", "\t", "|")
"""The delimiters that the reader tries on the header. The reader uses the delimiter that gives the
most columns. If two delimiters give equally many columns, the reader uses the first of them."""

_NAMED_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}

_NEVER_CLOSED = "unexpected end of data"

_NAMES_DELIMITER = re.compile(r'"?sep=([^"\r\n])"?[\r\n]*', re.IGNORECASE)
"""The line with which Excel names the delimiter, before the header."""


class CsvRows(Iterator[Row | Reject]):
    """Iterates over the rows of a CSV file. ``columns`` are the cells of the header.

    ``layout`` has the delimiter, the number of lines before the rows, and whether quotes are
    ordinary characters. After these lines, a line such as ``sep=;`` may name the delimiter. Without
    it, and if ``layout`` has no delimiter, the delimiter is found in the header: see
    ``DELIMITERS``. ``resembles`` returns whether the cells of a row are plausible. Lines whose
    cells are all empty are skipped. Raises CommandError if the delimiter or the header is invalid.
    An empty file has no columns and no rows.
    """

    def __init__(
        self,
        source: Source,
        layout: Preset = NO_PRESET,
        resembles: Callable[[Mapping[str, object]], bool] = lambda _: True,
    ) -> None:
        delimiter = layout.delimiter
        if delimiter is not None:
            delimiter = _NAMED_DELIMITERS.get(delimiter.lower(), delimiter)
            if len(delimiter) != 1 or delimiter in '"\r\n':
                raise CommandError(
                    f"--delimiter {layout.delimiter!r} is not a delimiter: name one character, or "
                    "write tab."
                )
        self._lines = lines_after(source, layout.skip_lines)
        self._again: deque[Line] = deque(islice(self._lines, 1))
        self._taken: list[Line] = []  # the lines of the record that is being read
        self._resembles = resembles
        self._quoting = _quoting(quoted=layout.quote is None)
        first = "".join(line.text for line in self._again)
        if named := _NAMES_DELIMITER.fullmatch(first):
            self._again.clear()
            delimiter = delimiter or named[1]
        self.delimiter = delimiter or max(
            DELIMITERS, key=lambda one: _width(first, one, self._quoting)
        )
        self._quoted = False
        self.columns: Sequence[str] = []
        self.columns = self._header(source.name)

    def __next__(self) -> Row | Reject:
        """Return the next row or rejected row. Raise StopIteration after the last line."""
        try:
            cells = self._record()
        except csv.Error as error:
            return self._salvage(_reason(error))
        if len(cells) != len(self.columns):
            return self._salvage(_miscounted(cells, self.columns))
        taken = self._taken
        joined = self._ends_with_row(cells)
        number = self._swallowed(cells) if len(taken) > 1 and not joined else None
        if number is not None and self._starts_row(len(taken) - 1, len(cells), len(cells) - 1):
            return self._before(number)
        if fault := self._fault():
            return self._rejected(taken, fault)
        row = Row(taken[0].number, dict(zip(self.columns, cells, strict=True)))
        if number is not None:
            reason = (
                f"line {taken[number].number} looks like a row, but the quote opened at line "
                f"{self._opened_at(number)} is not closed before it"
            )
        elif joined:
            reason = f"line {taken[-1].number} looks like two rows, the second after a quote"
        else:
            return row
        return row.rejected(f"{reason}: if the line is text, load the rejects file unchanged")

    def _record(self) -> list[str]:
        """Return the cells of the next record that is not blank."""
        cells: list[str] = []
        while not "".join(cells).strip():
            self._taken = []
            cells = next(self._read(self._texts()))
        return cells

    def _read(self, texts: Iterable[str], *, strict: bool = True) -> Iterator[list[str]]:
        return csv.reader(texts, delimiter=self.delimiter, quoting=self._quoting, strict=strict)

    def _texts(self) -> Iterator[str]:
        """Yield the lines that ``_before`` has put back, then the next lines of the file.

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
        """Reject the lines that were read, or only the lines before the next row in them."""
        taken = self._taken
        for number in range(1, len(taken)):
            if self._starts_row(number, len(self.columns), 0):
                return self._before(number)
        if len(taken) > 1:
            reason += f" (found at line {taken[-1].number})"
        return self._rejected(taken, reason)

    def _rejected(self, lines: Sequence[Line], reason: str) -> Reject:
        quoted = self._quoting != csv.QUOTE_NONE
        rejected, columns = reject_lines(lines, reason), self.columns
        return replace(rejected, columns=columns, delimiter=self.delimiter, quoted=quoted)

    def _before(self, number: int) -> Reject:
        """Reject the lines before this line of the record. The other lines are read again."""
        taken = self._taken
        self._again.extendleft(reversed(taken[number:]))
        reason = (
            f"the quote opened at line {self._opened_at(number)} is not closed: other rows "
            f"follow it, up to line {taken[-1].number}"
        )
        return self._rejected(taken[:number], reason)

    def _swallowed(self, cells: Sequence[str]) -> int | None:
        """Return the line of the record at which another row starts, or None.

        Another row is in the record if its quote was not closed. But a correct text may contain a
        line that looks like a row. Then the cells that follow the text in the row are at the end of
        the record. They are not before this line, so no line before it ends a plausible row.
        """
        taken, columns, first = self._taken, len(cells), 0
        # If a program quotes all cells, another row starts with a quote too.
        start = '"' if self._quoted and taken[0].text.startswith('"') else ""
        for place, cell in enumerate(cells):
            texts = cell.split("\n")
            starts = (
                number
                for number in range(1, len(texts))
                if taken[first + number].text.startswith(start)
                and self._starts_row(first + number, columns, columns - 1)
            )
            after = columns - place - 1  # number of cells after this cell
            if (number := next(starts, 0)) and any(
                self._ends_row(text, after) for text in texts[:number]
            ):
                return first + number
            first += len(texts) - 1
        return None

    def _ends_with_row(self, cells: Sequence[str]) -> bool:
        """Return whether a row follows a quote in the last cell.

        If a quote replaces the line end after a quoted cell, and the next row ends with a quote,
        this cell continues to the end of the next row.
        """
        if self._quoting == csv.QUOTE_NONE:
            return False
        # If a program quotes all cells, the next row starts with a quote, which closes the cell.
        if '"' not in cells[-1] or (self._quoted and self._taken[0].text.startswith('"')):
            return False
        line = cells[-1].rpartition("\n")[2]
        start, *others = line.rsplit(self.delimiter, len(cells) - 1)
        first = start.rpartition('"')[2]
        found = [first, *others]
        # In a text, a blank usually follows a quote that closes.
        if len(found) != len(cells) or first == start or not first[:1].strip():
            return False
        return self._resembles(dict(zip(self.columns, found, strict=True)))

    def _ends_row(self, text: str, after: int) -> bool:
        """Return whether a row may end at this line of a cell, with ``after`` other cells."""
        cells = re.split(rf'[{re.escape(self.delimiter)}"]', text.removesuffix("\r"))
        found = zip(reversed(self.columns), cells[: -after - 1 : -1], strict=False)
        return len(cells) > after and self._resembles(dict(found))

    def _starts_row(self, number: int, columns: int, least: int) -> bool:
        """Return whether a row starts at this line of the record.

        The row may continue in lines that were not read yet, if at least ``least`` of its cells are
        complete.
        """
        lines = self._taken[number : number + _LOOKAHEAD]
        try:
            cells = next(self._read(line.text for line in lines), [])
        except csv.Error as error:
            if lines[-1] is not self._taken[-1] or str(error) != _NEVER_CLOSED:
                return False
            cells = self._open_record(lines)[:-1]
            fits = least <= len(cells) < columns
        else:
            fits = len(cells) == columns
        return fits and self._resembles(dict(zip(self.columns, cells, strict=False)))

    def _open_record(self, lines: Iterable[Line]) -> list[str]:
        """Return the cells of a record whose last cell has no closing quote."""
        return next(self._read((line.text for line in lines), strict=False))

    def _opened_at(self, number: int) -> int:
        """Return the number of the line whose quote is still open before this line."""
        *complete, _ = self._open_record(self._taken[:number])
        return self._taken[0].number + sum(cell.count("\n") for cell in complete)

    def _header(self, name: str) -> list[str]:
        try:
            cells = self._record()
        except StopIteration:
            return []
        except csv.Error as error:
            raise CommandError(f"{name} has a broken header: {_reason(error)}.") from error
        if self._swallowed(cells) is not None:
            raise CommandError(f"{name} has a broken header: {_reason(csv.Error(_NEVER_CLOSED))}.")
        if fault := self._fault():
            raise CommandError(f"{name} has a broken header: {fault}.")
        self._quoted = self._taken[0].text.startswith('"')
        return [cell.strip() for cell in cells]


def _quoting(*, quoted: bool) -> Literal[0, 3]:
    return csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE


def _width(text: str, delimiter: str, quoting: Literal[0, 3]) -> int:
    """Return the number of columns in a header, or 0 if the delimiter is inside a quoted name."""
    try:
        cells = next(csv.reader([text], delimiter=delimiter, quoting=quoting), [])
    except csv.Error:
        return 0
    split = quoting != csv.QUOTE_NONE and any('"' in cell for cell in cells)
    return 0 if split else len(cells)


def _reason(error: csv.Error) -> str:
    message = str(error)
    if message.endswith("expected after '\"'"):
        return "a quoted cell continues after its closing quote"
    if message.startswith("new-line character"):
        return "a carriage return is outside quotes"
    return "a quote is opened and never closed" if message == _NEVER_CLOSED else message


def _miscounted(cells: Sequence[str], columns: Sequence[str]) -> str:
    return f"the row has {len(cells)} cells and the header {len(columns)}"


_ENVELOPE = {"line", "reason", "row", "raw", "columns", "delimiter", "quote", "cut"}
"""The members of an object in a rejects file: see ``rows``."""


class _NotARowError(Exception):
    """A text is not a row. The error's message is the reason."""


def lines_after(source: Source, skipped: int) -> Iterator[Line]:
    """Return an iterator over the lines of ``source``, without the first ``skipped`` lines.

    Raise CommandError if no line is left.
    """
    lines = read_lines(source.stream, source.encoding)
    if not skipped:
        return lines
    for _ in zip(range(skipped), lines, strict=False):
        pass
    first = list(islice(lines, 1))
    if not first:
        raise CommandError(
            f"{source.name} has no line after the first {skipped:,} lines: lower --skip-lines."
        )
    return chain(first, lines)


def read_jsonl(source: Source, skipped: int = 0) -> Iterator[Row | Reject]:
    """Return an iterator with a row or a rejected row for each line that is not blank.

    The first ``skipped`` lines are not rows. Raise CommandError for a JSON array.
    """
    if not skipped and source.head.lstrip().startswith(b"["):
        raise CommandError(
            f"{source.name} is one JSON array: use `jq -c '.[]'` to write each object on a line."
        )
    return (_read(line) for line in lines_after(source, skipped) if line.text.strip())


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


def _cells(
    text: str, columns: Sequence[str] | None, delimiter: str, *, quoted: bool
) -> dict[str, object]:
    """Return the cells of a row's text by column. The text is JSON if ``columns`` is None."""
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text):
        raise _NotARowError(
            "raw contains a NUL byte, or bytes that are not UTF-8 (\\udc80 to \\udcff)"
        )
    if columns is None:
        return _object(text)
    if len(delimiter) != 1:
        raise _NotARowError("delimiter is not one character")
    try:
        lines = io.StringIO(text, newline="\n")
        quoting = _quoting(quoted=quoted)
        records = list(csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True))
    except csv.Error as error:
        raise _NotARowError(_reason(error)) from None
    if len(records) != 1:
        raise _NotARowError(f"the text has {len(records)} rows instead of one")
    if len(records[0]) != len(columns):
        raise _NotARowError(_miscounted(records[0], columns))
    return dict(zip(columns, records[0], strict=True))


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
    delimiter, quoted = str(entry.get("delimiter", ",")), entry.get("quote") != "none"
    if isinstance(row, dict):
        return Row(line.number, row)
    if not isinstance(raw, str) or not isinstance(columns, list | None) or entry.get("cut"):
        raise _NotARowError("the entry of the rejects file has no complete row")
    names = None if columns is None else [str(column) for column in columns]
    try:
        return Row(line.number, _cells(raw, names, delimiter, quoted=quoted))
    except _NotARowError as error:
        return Reject(
            line.number, str(error), raw=raw, columns=names, delimiter=delimiter, quoted=quoted
        )
