"""Opening what is to be loaded, and saying in one sentence why a file as a whole cannot be."""

import io
import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from server.errors import CommandError
from server.importer.encodings import encoding_of
from server.importer.rows import OPENING
from server.importer.streams import (
    Counted,
    InUtf8,
    Pipe,
    WatchedFile,
    unpacked,
    with_head,
)

STDIN = Path("-")


@dataclass(frozen=True, slots=True)
class Source:
    """An open file, unpacked; ``stream`` is UTF-8, unless ``encoding`` is None and XML says other.

    ``size`` is that of the file as it is stored, where it is known; ``name`` is what messages call
    it; ``head`` are the first bytes of ``stream``, empty when that is.
    """

    name: str
    size: int | None
    head: bytes
    stream: io.BufferedReader
    encoding: str | None
    _stored: Counted
    _content: Counted
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set it to end a read that waits for a pipe."""

    @property
    def position(self) -> int:
        """Bytes read of the file as it is stored."""
        return self._stored.count

    @property
    def bytes_read(self) -> int:
        """Bytes read of its content."""
        return self._content.count


@contextmanager
def open_source(path: Path, encoding: str | None = None) -> Iterator[Source]:
    """Open ``path`` (``-``: standard input) and look at its first bytes.

    Raises CommandError for a file that cannot be read or is no text.
    """
    name = "standard input" if path == STDIN else str(path)
    stopped = threading.Event()
    with _opened(path, name) as file:
        status = os.fstat(file.fileno())
        regular = stat.S_ISREG(status.st_mode)
        place = Path("/dev/stdin") if path == STDIN else path
        stored = WatchedFile(file, place, name) if regular else Pipe(file, stopped)
        try:
            source = source_of(name, stored, status.st_size if regular else None, encoding, stopped)
        except OSError as error:
            raise unreadable(name, error) from error
        yield source


def source_of(
    name: str,
    stored: Counted,
    size: int | None,
    encoding: str | None = None,
    stopped: threading.Event | None = None,
) -> Source:
    """Return ``stored`` unpacked and in UTF-8; a rejects file is in UTF-8 whatever was chosen."""
    packed_head, stream = with_head(stored)
    head, stream = with_head(unpacked(packed_head, stream, name))
    found = None if head.startswith(OPENING) else encoding_of(name, head, encoding)
    content = Counted(stream if found is None else InUtf8(stream, found))
    head, stream = with_head(content)
    return Source(name, size, head, stream, found, stored, content, stopped or threading.Event())


def no_lines(name: str) -> Source:
    """Return a source of rows that are not read as lines of text."""
    return source_of(name, Counted(io.BytesIO()), None)


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
