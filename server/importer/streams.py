"""Byte streams of a file: counted, watched for changes, unpacked, in UTF-8.

Each layer is a raw stream over another one, so that a file of any size takes a few buffers.
"""

import codecs
import gzip
import io
import os
import select
import threading
import zlib
from collections.abc import Callable
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
