"""Opens the file to load: counts its bytes, decompresses it, and converts its text to UTF-8.

Each of these steps is a raw stream that reads from the previous step. So a file of any size needs
only a few buffers in memory.
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
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

from features.loading.zstandard import zstd
from server.errors import CommandError

HEAD_BYTES = 512
"""Number of bytes that are read to find the file's type. The mark of a tar archive is at the bytes
257 to 261."""

_CHUNK = 1 << 14
"""Bytes of a read. Three chunks are in memory: the buffer, and the latest two reads of the file."""

_Buffer: TypeAlias = bytearray | memoryview


class Counted(io.RawIOBase):
    """A stream of the bytes in ``chunks``, which it counts.

    ``look`` returns the first bytes without consuming them. A read takes at most one chunk, and so
    does not wait for a full buffer. This matters for a pipe, which may have one line now and the
    next line in an hour.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._ahead = b""
        self.count = 0

    def readable(self) -> bool:
        """Return True, which ``BufferedReader`` requires."""
        return True

    def look(self) -> bytes:
        """Return the first ``HEAD_BYTES`` bytes; fewer if the stream, or a pipe's line, is shorter.

        The method does not wait for a second line, because a pipe may not have a second line yet.
        """
        while len(self._ahead) < HEAD_BYTES and b"\n" not in self._ahead:
            if not self._fill():
                break
        return self._ahead[:HEAD_BYTES]

    def readinto(self, buffer: _Buffer) -> int:  # type: ignore[override]
        """Read available bytes into ``buffer``. Return their number, which is 0 at the end."""
        if not self._ahead:
            self._fill()
        taken = self._ahead[: len(buffer)]
        buffer[: len(taken)] = taken
        self._ahead = self._ahead[len(taken) :]
        return len(taken)

    def _fill(self) -> bytes:
        chunk = next(self._chunks, b"")
        self._ahead += chunk
        self.count += len(chunk)
        return chunk


def _piped(file: io.FileIO, stopped: threading.Event) -> Iterator[bytes]:
    """Yield the bytes of a pipe or terminal, until ``stopped`` is set.

    Without ``stopped``, the thread that waits in read(2) would keep the process alive after Ctrl-C.
    """
    while not stopped.is_set():
        if select.select([file], [], [], 0.1)[0]:
            if not (chunk := file.read(_CHUNK)):
                return
            yield chunk


def _watched(file: io.FileIO, opened: os.stat_result, path: Path, name: str) -> Iterator[bytes]:
    """Yield the bytes of the file to load, and no bytes after its end.

    ``opened`` is the file's status before the first read. Raises CommandError if the file is
    changed or replaced during the load.
    """
    while True:
        chunk = file.read(_CHUNK)
        now = os.fstat(file.fileno())
        if (opened.st_size, opened.st_mtime_ns) != (now.st_size, now.st_mtime_ns):
            change = "was changed"
            if opened.st_size != now.st_size:
                verb = "grew" if now.st_size > opened.st_size else "shrank"
                change = f"{verb} from {opened.st_size:,} to {now.st_size:,} bytes"
            raise CommandError(
                f"{name} {change} during the load: load it again when it is complete."
            )
        if not chunk:
            with suppress(OSError):  # the path has no file any more
                now = path.stat()
            if (now.st_dev, now.st_ino) != (opened.st_dev, opened.st_ino):
                raise CommandError(
                    f"{name} was replaced during the load, which has read the old file: load "
                    "the new file."
                )
        yield chunk


def _unpacked(stream: io.BufferedIOBase, name: str, packing: str) -> Iterator[bytes]:
    """Yield the content of a compressed stream.

    Raises CommandError if the stream is damaged or incomplete.
    """
    try:
        while chunk := stream.read1(_CHUNK):
            yield chunk
    except EOFError:
        fault = "is incomplete"
    except (gzip.BadGzipFile, zlib.error, zstd.ZstdError) as error:
        fault = f"is damaged ({str(error).removesuffix('.')})"
    else:
        return
    raise CommandError(f"{name} {fault}: get the complete {packing} file and load it.")


def _in_utf8(stream: Counted, encoding: str) -> Iterator[bytes]:
    """Yield text that is converted from another encoding to UTF-8.

    Invalid bytes become the byte 0xFF. UTF-8 never contains this byte, so ``rows.read_lines``
    later finds that the line is invalid.
    """
    chunks = iter(partial(stream.read, _CHUNK), b"")
    for text in codecs.iterdecode(chunks, encoding, _INVALID):
        yield text.encode(errors="surrogateescape")


_INVALID = "marginalia.invalid"
codecs.register_error(_INVALID, lambda error: ("\udcff", cast("UnicodeDecodeError", error).end))

_PACKINGS: dict[bytes, tuple[str, Callable[[io.BufferedReader], io.BufferedIOBase]]] = {
    b"\x1f\x8b": ("gzip", lambda stream: gzip.GzipFile(fileobj=stream)),
    b"\x28\xb5\x2f\xfd": ("zstd", zstd.ZstdFile),
}
"""The name and the reader of each supported compression, by the first bytes of a file."""

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by byte order mark. The marks of UTF-32 come first, because a mark of UTF-32 may start
with a mark of UTF-16."""

_NOT_TEXT = {
    b"PK": "is an archive or a spreadsheet: unpack it or save it as CSV first",
    b"BZh": "is compressed by bzip2: unpack it with `bunzip2` first",
    b"\xfd7zXZ": "is compressed by xz: unpack it with `unxz` first",
    b"PAR1": "is Parquet: add --format parquet",
}
"""Messages about files that are not text, by the first bytes of the file."""

_TAR = slice(257, 262)


def _encoding(name: str, head: bytes, chosen: str | None) -> str | None:
    """Return the encoding of a file whose first bytes are ``head``.

    None means that the file is UTF-8, or XML that declares its encoding. A byte order mark of
    UTF-16 or UTF-32 takes precedence over ``chosen``. Raises CommandError if ``chosen`` is not an
    encoding or requires a byte order mark that the file lacks, if the file is not text, or if it is
    probably UTF-16 or UTF-32 without a byte order mark.
    """
    for mark, marked in _MARKS.items():
        if head.startswith(mark):
            return marked
    fault = next((fault for magic, fault in _NOT_TEXT.items() if head.startswith(magic)), None)
    if head[_TAR] == b"ustar":
        fault = "is an archive: unpack it with `tar -xf` first"
    if fault is None and chosen is None and 0 in head[:4]:
        bits = 32 if head[:4].count(0) > 2 else 16  # noqa: PLR2004 - UTF-32 has three zeros
        order = "be" if head.startswith(b"\0") else "le"
        fault = f"is not UTF-8 but probably UTF-{bits}: add `--encoding utf-{bits}-{order}`"
    if fault is not None:
        raise CommandError(f"{name} {fault}.")
    if chosen is None:
        return None
    try:
        encoding = codecs.lookup(chosen).name
        # This raises LookupError for a codec that does not make text, such as base64.
        b"\n\n\n\n".decode(encoding, "ignore")
    except LookupError:
        raise CommandError(
            f"--encoding {chosen} is unknown: name one such as utf-8, latin-1, cp1252 or utf-16."
        ) from None
    if head and encoding in _MARKS.values():  # Python's decoder requires the mark
        raise CommandError(
            f"{name} has no byte order mark: add `--encoding {encoding}-le` or "
            f"`--encoding {encoding}-be`, or remove --encoding if the file is UTF-8."
        )
    return None if encoding in {"utf-8", "utf-8-sig"} else encoding


STDIN = Path("-")

OPENING = b'{"line":'
"""The first bytes of each line of a rejects file, by which such a file is recognized."""


@dataclass(frozen=True, slots=True)
class Source:
    """An open file, with its content decompressed and converted to UTF-8.

    ``name`` is the file's name in messages. ``size`` is the number of bytes on disk, or None for a
    pipe. ``head`` contains the first bytes of ``stream``, and is empty if the file is empty.
    ``encoding`` is the encoding before the conversion. If it is None, ``stream`` has the original
    bytes: UTF-8, or XML that declares its encoding.
    """

    name: str
    size: int | None
    head: bytes
    stream: io.BufferedReader
    encoding: str | None
    stored: Counted
    """The stream of the bytes on disk, before decompression. Its ``count`` shows the load's
    progress."""
    content: Counted
    """The stream that ``stream`` buffers: the decompressed and converted bytes of the file. Its
    ``count`` is the number of bytes that were read from it."""
    stopped: threading.Event = field(default_factory=threading.Event)
    """The load sets this event to end a read that waits for bytes of a pipe."""


@contextmanager
def open_source(path: Path, encoding: str | None = None) -> Iterator[Source]:
    """Open ``path`` and read its first bytes. The path ``-`` means standard input.

    Raises CommandError if the file cannot be read or is not text.
    """
    name = "standard input" if path == STDIN else str(path)
    try:
        file = io.FileIO(sys.stdin.fileno(), closefd=False) if path == STDIN else io.FileIO(path)
    except OSError as error:
        raise unreadable(name, error) from error
    with file:
        status = os.fstat(file.fileno())
        stopped, size = threading.Event(), None
        chunks = _piped(file, stopped)
        if stat.S_ISREG(status.st_mode):
            place = Path("/dev/stdin") if path == STDIN else path
            chunks, size = _watched(file, status, place, name), status.st_size
        try:
            source = source_of(name, Counted(chunks), size, encoding, stopped)
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
    """Return the content of ``stored``, decompressed and in UTF-8.

    For a rejects file, ``encoding`` is ignored, because such a file is always UTF-8.
    """
    content, head = stored, stored.look()
    for magic, (packing, unpack) in _PACKINGS.items():
        if head.startswith(magic):
            content = Counted(_unpacked(unpack(_buffered(stored)), name, packing))
            head = content.look()
            break
    found = None if head.startswith(OPENING) else _encoding(name, head, encoding)
    if found is not None:
        content = Counted(_in_utf8(content, found))
    stopped = stopped or threading.Event()
    return Source(name, size, content.look(), _buffered(content), found, stored, content, stopped)


def _buffered(stream: Counted) -> io.BufferedReader:
    # BufferedReader accepts any raw stream, but typeshed requires the attributes of FileIO.
    return io.BufferedReader(cast("io.FileIO", stream), _CHUNK)


def unreadable(name: str, error: OSError) -> CommandError:
    """Return the error for a file that cannot be opened or read."""
    messages: dict[type[OSError], str] = {
        FileNotFoundError: "does not exist: check the path",
        IsADirectoryError: "is a directory: name a file",
        PermissionError: "cannot be read by this user: check its permissions",
    }
    return CommandError(f"{name} {messages.get(type(error), f'cannot be read: {error.strerror}')}.")
