"""Physical lines of a byte stream, numbered from 1, in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

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
    """Iterates over the lines of a stream; ``bytes_read`` counts what was consumed so far."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._number = 0
        self.bytes_read = 0
        self.first = self._read().removeprefix(_BOM)
        """The first line's bytes, read ahead; empty when the stream is."""
        self._ahead: bytes | None = self.first

    def __next__(self) -> Line:
        """Return the next line; StopIteration after the last."""
        content = self._read() if self._ahead is None else self._ahead
        self._ahead = None
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
        if "\0" in text:
            fault = "the line holds a NUL byte"
        return Line(self._number, text, fault)

    def _read(self) -> bytes:
        content = self._stream.readline(MAX_LINE_BYTES + 1)
        self.bytes_read += len(content)
        return content

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
