r"""Lines and rows of a file, and the rejects file, which contains the rejected rows.

The rejects file is JSONL. After the operator has fixed its rows, ``load`` reads it like any other
file. Each line is an object with these members:

- ``line`` and ``reason``: the row's line number in the loaded file, and why the row was rejected.
- ``row``: the row as an object, if the row could be parsed.
- ``raw``: the text of the row, if it could not be parsed. It is empty for XML. Bytes that are not
  UTF-8 are ``\udc80`` to ``\udcff``.
- ``columns``, ``delimiter`` and ``quote``: only if ``raw`` is CSV. The default of ``delimiter`` is
  a comma. ``quote`` is ``none`` if quotes are ordinary characters.
- ``cut``: true if a line or an XML row was too long. Then ``raw`` contains only the start of the
  line, or nothing for XML.
"""

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO

from features.loading.source import OPENING, STDIN
from server.errors import CommandError

MAX_LINE_BYTES = 1_000_000

_BOM = b"\xef\xbb\xbf"
"""The byte order mark. Some programs write it at the start of UTF-8 files."""

_HEAD = 1_000
"""If a line is too long, ``Line.text`` contains only this number of its first bytes."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line with its line end.

    In ``text``, a byte that is not UTF-8 is a lone surrogate, as with Python's ``surrogateescape``.
    ``fault`` is the reason why the line cannot be loaded, or None. If ``cut`` is true, the line was
    too long, and ``text`` contains only the start of the line.
    """

    number: int
    text: str
    fault: str | None = None
    cut: bool = False


def read_lines(stream: BinaryIO, encoding: str | None = None) -> Iterator[Line]:
    """Yield the lines of a UTF-8 stream.

    ``encoding`` is the file's encoding before the conversion to UTF-8, for messages. It is None if
    the file was not converted.
    """
    for number in count(1):
        content = stream.readline(MAX_LINE_BYTES + 1)
        if number == 1:
            content = content.removeprefix(_BOM)
        if not content:
            return
        if len(content) > MAX_LINE_BYTES:
            size, rest = len(content), content
            while rest and not rest.endswith(b"\n"):
                rest = stream.readline(MAX_LINE_BYTES + 1)
                size += len(rest)
            yield Line(
                number,
                content[:_HEAD].decode(errors="surrogateescape"),
                f"the line is {size:,} bytes long; the maximum is {MAX_LINE_BYTES:,}",
                cut=True,
            )
            continue
        try:
            text, fault = content.decode(), None
        except UnicodeDecodeError as error:
            text = content.decode(errors="surrogateescape")
            fault = (
                f"byte {error.start + 1} of the line is not UTF-8: add --encoding if the file has "
                "another encoding, such as cp1252"
            )
            if encoding is not None:
                # ``error.start`` is a position in the converted text. The operator's file has the
                # byte at another position.
                fault = f"the line is not valid {encoding}"
        if "\0" in text:
            fault = "the line contains a NUL byte"
        yield Line(number, text, fault)


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row by column name.

    A cell is text in CSV and XML, and any JSON value in JSONL and Parquet. ``line`` is the number
    of the row's first line in the file. In Parquet, it is the number of the row. ``source`` is the
    text of the row's line in JSONL. It is None in other formats and in a rejects file.
    """

    line: int
    cells: Mapping[str, object]
    source: str | None = None

    def rejected(self, reason: str) -> "Reject":
        """Return this row as a rejected row with ``reason``."""
        source = self.source or json.dumps(self.cells, ensure_ascii=False)
        return Reject(self.line, reason, row=source)


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that is not loaded. The module's docstring describes the attributes.

    ``row`` is JSON text. It is None if the row could not be parsed. Then ``raw`` is the row's text.
    """

    line: int
    reason: str
    row: str | None = None
    raw: str | None = None
    columns: Sequence[str] | None = None
    cut: bool = False
    delimiter: str = ","
    quoted: bool = True

    def encode(self) -> bytes:
        """Return the line that describes this row in the rejects file."""
        entry: dict[str, object] = {"line": self.line, "reason": self.reason}
        if self.raw is not None:
            entry["raw"] = self.raw
        if self.columns is not None:
            entry["columns"] = self.columns
            if self.delimiter != ",":
                entry["delimiter"] = self.delimiter
            if not self.quoted:
                entry["quote"] = "none"
        if self.cut:
            entry["cut"] = True
        text = json.dumps(entry, ensure_ascii=False)
        if self.row is not None:
            text = f'{text[:-1]}, "row": {self.row}}}'
        # UTF-8 cannot contain a lone surrogate, so the surrogate is written as a JSON escape.
        return f"{text}\n".encode(errors="backslashreplace")


def reject_lines(lines: Sequence[Line], reason: str) -> Reject:
    """Return ``lines`` as one rejected row. A fault of a line takes precedence over ``reason``."""
    return Reject(
        lines[0].number,
        next((line.fault for line in lines if line.fault), reason),
        raw="".join(line.text for line in lines).removesuffix("\n").removesuffix("\r"),
        cut=any(line.cut for line in lines),
    )


class RejectsFile:
    """The rejects file of one load. The first rejected row creates it.

    If an earlier load has written a rejects file at this path, the earlier file is renamed to
    ``PATH.old``, because the operator may have edited it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def write(self, reject: Reject) -> None:
        """Append one rejected row. Raise CommandError if the file cannot be written."""
        with self._writing():
            if self._file is None:
                self._move_aside()
                self._file = self.path.open("wb")
            self._file.write(reject.encode())

    def close(self) -> None:
        """Close the file. If no row was rejected, only rename an earlier rejects file.

        Raise CommandError if the last bytes cannot be written, or the file cannot be renamed.
        """
        with self._writing():
            if self._file is None:
                self._move_aside()
            else:
                self._file.close()

    def abandon(self) -> None:
        """Close the file after the load has failed. Ignore errors."""
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
    """Return the rejects file with the path ``chosen``.

    If ``chosen`` is None, the rejects file is next to ``source``, or in the current directory if
    the directory of ``source`` cannot be written. Raises CommandError if the rejects file cannot be
    written, or if another file is at its path: ``source``, or a file that is not a rejects file.
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
            raise CommandError(
                f"{path} is the file to load: name another rejects file with --rejects."
            )
        if path.is_file() and not _is_ours(path):
            raise CommandError(
                f"{path} is not a rejects file: name another rejects file with --rejects."
            )
    except OSError as error:
        raise CommandError(
            f"{path} cannot be written ({error.strerror}): name another file with --rejects."
        ) from error
    return RejectsFile(path)


def _probe(path: Path) -> None:
    """Raise OSError if ``path`` cannot be written. Leave no file."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.is_file() or not path.exists():
        with tempfile.TemporaryFile(dir=path.parent):
            pass


def _is_ours(path: Path) -> bool:
    """Return whether ``path`` is a rejects file.

    An empty file counts as a rejects file, because a load that is killed early leaves an empty
    file.
    """
    with path.open("rb") as file:
        return file.read(len(OPENING)) in {b"", OPENING}
