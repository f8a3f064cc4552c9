r"""Lines and rows of a file, and the rejects file with the rows that are not loaded.

The rejects file is JSONL. After the operator has fixed its rows, ``load`` reads it like any other
file. Each entry has ``line`` and ``reason``, and ``row`` (an object) if the row could be parsed.
Otherwise it has ``raw``, the text of the row, in which bytes that are not UTF-8 are ``\udc80`` to
``\udcff``. For CSV it also has ``columns``, and ``delimiter`` unless it is a comma. If a line was
too long, ``cut`` is true, and ``raw`` contains only the start of the line.
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
"""The byte order mark with which some programs start UTF-8 files."""

_HEAD = 1_000


@dataclass(frozen=True, slots=True)
class Line:
    """One line with its line end. In ``text``, bytes that are not UTF-8 are lone surrogates.

    ``fault`` is the reason why the line cannot be loaded. If the line is ``cut``, ``text`` is only
    the start of the line.
    """

    number: int
    text: str
    fault: str | None = None
    cut: bool = False


class Lines(Iterator[Line]):
    """Iterates over the lines of a UTF-8 stream. Messages name the file's own ``encoding``."""

    def __init__(self, stream: BinaryIO, encoding: str | None = None) -> None:
        self._stream = stream
        self._encoding = encoding
        self._number = 0

    def __next__(self) -> Line:
        """Return the next line. Raise StopIteration after the last."""
        content = self._stream.readline(MAX_LINE_BYTES + 1)
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
            fault = f"byte {error.start + 1} of the line is not UTF-8"
            if self._encoding is not None:
                # The error counts bytes of the converted UTF-8, and not of the file.
                fault = f"the line is not valid {self._encoding}"
        if "\0" in text:
            fault = "the line contains a NUL byte"
        return Line(self._number, text, fault)

    def _cut(self, head: bytes) -> Line:
        size, rest = len(head), head
        while rest and not rest.endswith(b"\n"):
            rest = self._stream.readline(MAX_LINE_BYTES + 1)
            size += len(rest)
        return Line(
            self._number,
            head[:_HEAD].decode(errors="surrogateescape"),
            f"the line is {size:,} bytes long; the maximum is {MAX_LINE_BYTES:,}",
            cut=True,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row by column name: text from CSV, or any JSON value from JSONL.

    ``line`` is the number of the row's first line in the file. ``source`` is the row as JSON text.
    """

    line: int
    cells: Mapping[str, object]
    source: str | None = None

    def rejected(self, reason: str) -> "Reject":
        """Return this row as a reject."""
        source = self.source or json.dumps(self.cells, ensure_ascii=False)
        return Reject(self.line, reason, row=source)


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that is not loaded: ``row`` as JSON text, or ``raw`` if it could not be parsed.

    ``columns`` are the names of the cells in CSV text. ``cut`` is true if the line was too long and
    only its start is here.
    """

    line: int
    reason: str
    row: str | None = None
    raw: str | None = None
    columns: Sequence[str] | None = None
    cut: bool = False
    delimiter: str = ","

    def encode(self) -> bytes:
        """Return the row's entry in the rejects file."""
        entry: dict[str, object] = {"line": self.line, "reason": self.reason}
        if self.raw is not None:
            entry["raw"] = self.raw
        if self.columns is not None:
            entry["columns"] = self.columns
            if self.delimiter != ",":
                entry["delimiter"] = self.delimiter
        if self.cut:
            entry["cut"] = True
        text = json.dumps(entry, ensure_ascii=False)
        if self.row is not None:
            text = f'{text[:-1]}, "row": {self.row}}}'
        # UTF-8 cannot contain a lone surrogate, so it is written as JSON's escape.
        return f"{text}\n".encode(errors="backslashreplace")


def reject_lines(
    lines: Sequence[Line],
    reason: str,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
) -> Reject:
    """Return ``lines`` as one reject. If a line has a fault, it replaces ``reason``."""
    return Reject(
        lines[0].number,
        next((line.fault for line in lines if line.fault), reason),
        raw="".join(line.text for line in lines).removesuffix("\n").removesuffix("\r"),
        columns=columns,
        cut=any(line.cut for line in lines),
        delimiter=delimiter,
    )


class RejectsFile:
    """The rejects file of one load. The first rejected row creates it.

    A file of an earlier load, which the operator may have edited, is renamed to ``PATH.old``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def write(self, reject: Reject) -> None:
        """Append one entry. Raise CommandError if the file cannot be written."""
        with self._writing():
            if self._file is None:
                self._move_aside()
                self._file = self.path.open("wb")
            self._file.write(reject.encode())

    def close(self) -> None:
        """Close the file. Raise CommandError if its last bytes cannot be written."""
        with self._writing():
            if self._file is None:
                self._move_aside()
            else:
                self._file.close()

    def abandon(self) -> None:
        """Close the file after a failure. Ignore further errors."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CommandError(
                f"The rejected rows cannot be written to {self.path} ({error.strerror}): name "
                "another file with --rejects."
            ) from error

    def _move_aside(self) -> None:
        if self.path.is_file():
            self.path.replace(self.path.with_name(f"{self.path.name}.old"))


def rejects_file(chosen: Path | None, source: Path) -> RejectsFile:
    """Return the rejects file: ``chosen``, or next to ``source``, or in the current directory.

    Raises CommandError if it cannot be written, or if a file of another kind has its name.
    """
    name = "stdin" if source == STDIN else source.name
    path = chosen or source.with_name(f"{name}.rejects.jsonl")
    try:
        try:
            _probe(path)
        except OSError:
            if chosen:
                raise
            path = Path(path.name)
            _probe(path)
        if path.exists() and source.exists() and path.samefile(source):
            raise CommandError(f"{path} is the file to load: name another with --rejects.")
        if path.is_file() and not _is_ours(path):
            raise CommandError(f"{path} is not a rejects file: name another with --rejects.")
    except OSError as error:
        raise CommandError(
            f"{path} cannot be written ({error.strerror}): name another file with --rejects."
        ) from error
    return RejectsFile(path)


def _probe(path: Path) -> None:
    """Raise OSError if ``path`` cannot be written. The attempt leaves no file."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.is_file() or not path.exists():
        with tempfile.TemporaryFile(dir=path.parent):
            pass


def _is_ours(path: Path) -> bool:
    """Return whether a load has written ``path``, or a killed load has left it empty."""
    with path.open("rb") as file:
        return file.read(len(OPENING)) in {b"", OPENING}
