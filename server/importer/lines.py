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
