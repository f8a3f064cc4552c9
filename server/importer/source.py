"""Opening what is to be loaded, and saying in one sentence why a file as a whole cannot be."""

import io
import os
import select
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from server.errors import CommandError
from server.importer.lines import Lines

STDIN = Path("-")

_NOT_TEXT = {
    b"\xff\xfe": "is UTF-16: convert it first, with `iconv -f UTF-16 -t UTF-8`",
    b"\xfe\xff": "is UTF-16: convert it first, with `iconv -f UTF-16 -t UTF-8`",
    b"\x1f\x8b": "is compressed: unpack it first, with `gunzip`",
    b"PK": "is an archive or a spreadsheet: unpack it, or save it as CSV, first",
}
"""The first two bytes of files that are often mistaken for JSONL or CSV."""


@dataclass(frozen=True, slots=True)
class Source:
    """An open file; ``size`` in bytes where it is known, and ``name`` as messages call it."""

    name: str
    size: int | None
    lines: Lines
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set it to end a read that waits for a pipe."""


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open ``path`` (``-``: standard input) and look at its first line.

    Raises CommandError for a file that cannot be read or is no UTF-8 text.
    """
    name = "standard input" if path == STDIN else str(path)
    stopped = threading.Event()
    with _opened(path, name) as file:
        status = os.fstat(file.fileno())
        regular = stat.S_ISREG(status.st_mode)
        raw = file if regular else _Pipe(file, stopped)
        # BufferedReader takes any raw stream; typeshed asks for FileIO's extra attributes.
        stream = cast("BinaryIO", io.BufferedReader(raw, 1 << 16))
        try:
            lines = Lines(stream)
        except OSError as error:
            raise unreadable(name, error) from error
        _check_text(name, lines.first)
        yield Source(name, status.st_size if regular else None, lines, stopped)


def unreadable(name: str, error: OSError) -> CommandError:
    """Return the sentence for a file that the system does not let us read."""
    sentences: dict[type[OSError], str] = {
        FileNotFoundError: "is not there: check the path",
        IsADirectoryError: "is a directory: name one file",
        PermissionError: "may not be read by you: check its permissions",
    }
    return CommandError(
        f"{name} {sentences.get(type(error), f'cannot be read: {error.strerror}')}."
    )


def _opened(path: Path, name: str) -> io.FileIO:
    if path == STDIN:
        return io.FileIO(sys.stdin.fileno(), closefd=False)
    try:
        return io.FileIO(path)
    except OSError as error:
        raise unreadable(name, error) from error


def _check_text(name: str, first: bytes) -> None:
    what = _NOT_TEXT.get(first[:2])
    if what is None and 0 in first[:4]:
        what = "is not UTF-8 (it looks like UTF-16 or UTF-32): convert it first, with `iconv`"
    if what is not None:
        raise CommandError(f"{name} {what}.")


class _Pipe(io.RawIOBase):
    """A pipe or terminal whose reads give up once ``stopped`` is set.

    A thread that waits in read(2) for a writer would keep the process alive after Ctrl-C.
    """

    def __init__(self, file: io.FileIO, stopped: threading.Event) -> None:
        self._file = file
        self._stopped = stopped

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not select.select([self._file], [], [], 0.1)[0]:
            if self._stopped.is_set():
                return 0
        return self._file.readinto(buffer)
