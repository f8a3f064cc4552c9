r"""Lines and rows of a file, and the rejects file with the rows that are not loaded.

The rejects file is JSONL, and ``load`` reads it like any other file once its rows are fixed. Each
entry holds ``line`` and ``reason``, and ``row`` (an object) if the row could be parsed. Otherwise
it holds ``raw``, the text of the row, with bytes that are not UTF-8 as ``\udc80`` to ``\udcff``;
for CSV also ``columns`` and, unless it is a comma, ``delimiter``. ``cut`` marks an overlong line of
which only the start was kept.
"""

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from server.errors import CommandError
from server.importer.source import OPENING, STDIN

MAX_LINE_BYTES = 1_000_000

_BOM = b"\xef\xbb\xbf"
"""Some programs start UTF-8 files with it; it is no part of the text."""

_HEAD = 1_000


@dataclass(frozen=True, slots=True)
class Line:
    """One line with its line end; bytes that are not UTF-8 stand in ``text`` as lone surrogates.

    ``fault`` says why no row of it can be loaded. Only the head of a ``cut`` line is kept.
    """

    number: int
    text: str
    fault: str | None = None
    cut: bool = False


class Lines(Iterator[Line]):
    """Iterates over the lines of a stream in UTF-8; messages name the encoding it had before."""

    def __init__(self, stream: BinaryIO, encoding: str | None = None) -> None:
        self._stream = stream
        self._encoding = encoding
        self._number = 0

    def __next__(self) -> Line:
        """Return the next line; StopIteration after the last."""
        content = self._read()
        if not self._number:
            content = content.removeprefix(_BOM)
        if not content:
            raise StopIteration
        self._number += 1
        if len(content) > MAX_LINE_BYTES:
            return self._cut(content)
        try:
            text, fault = content.decode(), None
        except UnicodeDecodeError as error:
            text = content.decode(errors="surrogateescape")
            fault = self._undecodable(error)
        if "\0" in text:
            fault = "the line holds a NUL byte"
        return Line(self._number, text, fault)

    def _read(self) -> bytes:
        return self._stream.readline(MAX_LINE_BYTES + 1)

    def _undecodable(self, error: UnicodeDecodeError) -> str:
        if self._encoding is not None:
            return f"the line holds what is not {self._encoding}"
        return f"byte {error.start + 1} of the line is not UTF-8"

    def _cut(self, head: bytes) -> Line:
        size, rest = len(head), head
        while rest and not rest.endswith(b"\n"):
            rest = self._read()
            size += len(rest)
        return Line(
            self._number,
            head[:_HEAD].decode(errors="surrogateescape"),
            f"the line is {size:,} bytes long; the most is {MAX_LINE_BYTES:,}",
            cut=True,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row by column name: text from CSV, any JSON value from JSONL.

    ``line`` is the number of its first physical line; ``source`` the row as JSON text.
    """

    line: int
    cells: Mapping[str, object]
    source: str | None = None

    def rejected(self, reason: str) -> "Reject":
        """Return this row as one that broke a rule."""
        source = self.source or json.dumps(self.cells, ensure_ascii=False)
        return Reject(self.line, reason, row=source)


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that is not loaded: its ``row`` as JSON text or, unparsed, the ``raw`` text.

    ``columns`` names the cells of raw CSV text, between ``delimiter``. ``cut`` tells that only the
    head of an overlong line was kept.
    """

    line: int
    reason: str
    row: str | None = None
    raw: str | None = None
    columns: Sequence[str] | None = None
    cut: bool = False
    delimiter: str = ","


def reject_lines(
    lines: Sequence[Line],
    reason: str,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
) -> Reject:
    """Return ``lines`` as one reject; their own fault comes before ``reason``."""
    return Reject(
        lines[0].number,
        next((line.fault for line in lines if line.fault), reason),
        raw="".join(line.text for line in lines).removesuffix("\n").removesuffix("\r"),
        columns=columns,
        cut=any(line.cut for line in lines),
        delimiter=delimiter,
    )


SUFFIX = ".rejects.jsonl"


class RejectsFile:
    """Written anew by each load, and only when there is something to reject.

    What an earlier load left in its place, perhaps mended meanwhile, is moved to ``PATH.old``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def write(self, reject: Reject) -> None:
        """Append one entry; OSError when the file cannot be written."""
        if self._file is None:
            self._move_aside()
            self._file = self.path.open("wb")
        self._file.write(_entry(reject))

    def close(self) -> None:
        """Finish the file; OSError when its last bytes cannot be written."""
        if self._file is None:
            self._move_aside()
        else:
            self._file.close()

    def abandon(self) -> None:
        """Close the file after a failure, whatever became of its last bytes."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()

    def _move_aside(self) -> None:
        if self.path.is_file():
            self.path.replace(self.path.with_name(f"{self.path.name}.old"))


def rejects_file(chosen: Path | None, source: Path) -> RejectsFile:
    """Return the rejects file at ``chosen``, or beside ``source``, or in the current directory.

    Raises CommandError when it could not be written, or another file is in its place.
    """
    path = chosen or _default(source)
    try:
        _check(path, source)
    except OSError as error:
        raise CommandError(
            f"{path} cannot be written ({error.strerror}): name another file with --rejects."
        ) from error
    return RejectsFile(path)


def _check(path: Path, source: Path) -> None:
    if path.exists() and source.exists() and path.samefile(source):
        raise CommandError(f"{path} is the file to load: name another with --rejects.")
    if path.is_file() and not _is_ours(path):
        raise CommandError(f"{path} is not a rejects file: name another with --rejects.")
    _probe(path)


def _default(source: Path) -> Path:
    name = "stdin" if source == STDIN else source.name
    beside = source.with_name(f"{name}{SUFFIX}")
    try:
        _probe(beside)
    except OSError:
        return Path(beside.name)
    return beside


def _probe(path: Path) -> None:
    """Raise OSError unless ``path`` can be written; nothing is left of the attempt."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.is_file() or not path.exists():
        with tempfile.TemporaryFile(dir=path.parent):
            pass


def _is_ours(path: Path) -> bool:
    """Tell whether a load wrote ``path``, which may be empty when it was killed."""
    with path.open("rb") as file:
        return file.read(len(OPENING)) in {b"", OPENING}


def _entry(reject: Reject) -> bytes:
    entry: dict[str, object] = {"line": reject.line, "reason": reject.reason}
    if reject.raw is not None:
        entry["raw"] = reject.raw
    if reject.columns is not None:
        entry["columns"] = reject.columns
        if reject.delimiter != ",":
            entry["delimiter"] = reject.delimiter
    if reject.cut:
        entry["cut"] = True
    text = json.dumps(entry, ensure_ascii=False)
    if reject.row is not None:
        text = f'{text[:-1]}, "row": {reject.row}}}'
    # A lone surrogate, which UTF-8 cannot hold, is written as its JSON escape.
    return f"{text}\n".encode(errors="backslashreplace")
