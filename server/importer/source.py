"""Opens the file to load: counts and decompresses its bytes, and finds its encoding.

Each layer is a raw stream over another one, so that a file of any size takes a few buffers.
"""

import codecs
import gzip
import io
import os
import select
import stat
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from server.errors import CommandError
from server.zstandard import zstd

HEAD_BYTES = 512
"""Looked at before anything is read: the magic of an archive of tar stands at 257."""

_CHUNK = 1 << 16


Stream = io.RawIOBase | io.BufferedIOBase
"""Anything to read bytes of, whose reads need not wait for all that was asked for."""


def _read_into(stream: Stream, buffer: bytearray | memoryview) -> int:
    """Read what there is: a pipe may have a line now and the next one in an hour."""
    if isinstance(stream, io.BufferedIOBase):
        return stream.readinto1(buffer)
    return stream.readinto(buffer) or 0


class Counted(io.RawIOBase):
    """A stream that counts the bytes read of it."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.count = 0

    def readable(self) -> bool:
        """Tell that it can be read, which io asks."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read into ``buffer`` what there is, at most what it holds; 0 is the end."""
        size = self._fill(buffer)
        self.count += size
        return size

    def _fill(self, buffer: bytearray | memoryview) -> int:
        return _read_into(self._stream, buffer)


class Pipe(Counted):
    """A pipe or terminal whose reads give up once ``stopped`` is set.

    A thread that waits in read(2) for a writer would keep the process alive after Ctrl-C.
    """

    def __init__(self, file: io.FileIO, stopped: threading.Event) -> None:
        super().__init__(file)
        self._file = file
        self._stopped = stopped

    def _fill(self, buffer: bytearray | memoryview) -> int:
        while not select.select([self._file], [], [], 0.1)[0]:
            if self._stopped.is_set():
                return 0
        return super()._fill(buffer)


class WatchedFile(Counted):
    """A file that must stay as it is while it is read; CommandError once it does not."""

    def __init__(self, file: io.FileIO, path: Path, name: str) -> None:
        super().__init__(file)
        self._file = file
        self._path = path
        self._name = name
        self._opened = os.fstat(file.fileno())

    def _fill(self, buffer: bytearray | memoryview) -> int:
        size = super()._fill(buffer)
        self._check_content()
        if not size:
            self._check_place()
        return size

    def _check_content(self) -> None:
        before, now = self._opened, os.fstat(self._file.fileno())
        if (before.st_size, before.st_mtime_ns) == (now.st_size, now.st_mtime_ns):
            return
        how = "was changed"
        if before.st_size != now.st_size:
            verb = "grew" if now.st_size > before.st_size else "shrank"
            how = f"{verb} from {before.st_size:,} to {now.st_size:,} bytes"
        raise CommandError(f"{self._name} {how} while it was read: load it again once it is whole.")

    def _check_place(self) -> None:
        try:
            now = self._path.stat()
        except OSError:
            return
        if (now.st_dev, now.st_ino) != (self._opened.st_dev, self._opened.st_ino):
            raise CommandError(
                f"{self._name} was replaced while it was read, and what was read is the earlier "
                "file: load it again."
            )


class Unpacked(Counted):
    """What a compressed stream holds; CommandError when it is damaged."""

    def __init__(self, stream: Stream, name: str, packing: str) -> None:
        super().__init__(stream)
        self._name = name
        self._packing = packing

    def _fill(self, buffer: bytearray | memoryview) -> int:
        try:
            return super()._fill(buffer)
        except EOFError:
            fault = "ends too soon"
        except (gzip.BadGzipFile, zlib.error, zstd.ZstdError) as error:
            fault = f"is damaged ({str(error).removesuffix('.')})"
        raise CommandError(
            f"{self._name} {fault}: get a whole copy of the {self._packing} file, and load it over "
            "what was loaded of this one."
        )


class InUtf8(Counted):
    """Text of another encoding in UTF-8, with 0xFF, which UTF-8 never has, for what is no text."""

    def __init__(self, stream: io.BufferedIOBase, encoding: str) -> None:
        super().__init__(stream)
        self._text = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(_NOT_TEXT)
        self._ready = b""

    def _fill(self, buffer: bytearray | memoryview) -> int:
        ended = False
        while not self._ready and not ended:
            content = self._text.read1(_CHUNK)
            ended = not content
            text = self._decoder.decode(content, final=ended)
            self._ready = text.encode(errors="surrogateescape")
        taken = self._ready[: len(buffer)]
        buffer[: len(taken)] = taken
        self._ready = self._ready[len(taken) :]
        return len(taken)


class _Rewound(Counted):
    """A stream whose head was read already, from its start."""

    def __init__(self, head: bytes, stream: Stream) -> None:
        super().__init__(stream)
        self._head = head

    def _fill(self, buffer: bytearray | memoryview) -> int:
        if not self._head:
            return super()._fill(buffer)
        taken = self._head[: len(buffer)]
        buffer[: len(taken)] = taken
        self._head = self._head[len(taken) :]
        return len(taken)


def with_head(stream: Stream) -> tuple[bytes, io.BufferedReader]:
    """Return the first bytes of a stream, to its first line's end at most, and all of the stream.

    A pipe may have no more than a line yet.
    """
    head = b""
    buffer = bytearray(HEAD_BYTES)
    while len(head) < HEAD_BYTES and b"\n" not in head:
        size = _read_into(stream, buffer)
        if not size:
            break
        head += buffer[:size]
    # BufferedReader takes any raw stream; typeshed asks for FileIO's extra attributes.
    whole = cast("io.FileIO", _Rewound(head, stream))
    return head, io.BufferedReader(whole, _CHUNK)


def unpacked(head: bytes, stream: io.BufferedReader, name: str) -> Stream:
    """Return what the stream holds, which its first bytes tell: gzip, zstd, or itself."""
    for magic, (packing, opened) in _PACKINGS.items():
        if head.startswith(magic):
            return Unpacked(opened(stream), name, packing)
    return stream


_PACKINGS: dict[bytes, tuple[str, Callable[[io.BufferedReader], Stream]]] = {
    b"\x1f\x8b": ("gzip", lambda stream: gzip.GzipFile(fileobj=stream)),
    b"\x28\xb5\x2f\xfd": ("zstd", zstd.ZstdFile),
}
"""By the first bytes of what they pack."""

_NOT_TEXT = "marginalia.not-text"
codecs.register_error(_NOT_TEXT, lambda error: ("\udcff", cast("UnicodeDecodeError", error).end))


_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks, which no text of another encoding starts with; the longer ones first."""

_NO_TEXT = {
    b"PK": "is an archive or a spreadsheet: unpack it, or save it as CSV, first",
    b"BZh": "is compressed by bzip2: unpack it first, with `bunzip2`",
    b"\xfd7zXZ": "is compressed by xz: unpack it first, with `unxz`",
    b"PAR1": "is Parquet: add --format parquet",
}
"""The first bytes of files that are often mistaken for text."""

_TAR = slice(257, 262)


def encoding_of(name: str, head: bytes, chosen: str | None) -> str | None:
    """Return the encoding of a file that starts with ``head``; None is UTF-8, or what XML declares.

    Raises CommandError for an unknown encoding, and for a file that is no text.
    """
    marked = next((found for mark, found in _MARKS.items() if head.startswith(mark)), None)
    if marked is None:
        _check_text(name, head, chosen)
    return marked or (None if chosen is None else _known(chosen))


def _known(chosen: str) -> str | None:
    try:
        encoding = codecs.lookup(chosen).name
        b"\n\n\n\n".decode(encoding, "ignore")  # refuses what makes no text, such as base64
    except LookupError:
        raise CommandError(
            f"--encoding {chosen} is not known: name one such as utf-8, latin-1, cp1252 or utf-16."
        ) from None
    return None if encoding in {"utf-8", "utf-8-sig"} else encoding


def _check_text(name: str, head: bytes, chosen: str | None) -> None:
    what = next((what for magic, what in _NO_TEXT.items() if head.startswith(magic)), None)
    if head[_TAR] == b"ustar":
        what = "is an archive: unpack it first, with `tar -xf`"
    if what is None and chosen is None and 0 in head[:4]:
        bits = 32 if head[:4].count(0) > 2 else 16  # noqa: PLR2004 - of four bytes, of a letter
        order = "be" if head.startswith(b"\0") else "le"
        what = f"is not UTF-8 but looks like UTF-{bits}: add `--encoding utf-{bits}-{order}`"
    if what is not None:
        raise CommandError(f"{name} {what}.")


STDIN = Path("-")

OPENING = b'{"line":'
"""How each entry of a rejects file starts."""


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
