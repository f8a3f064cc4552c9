"""The access log: a line for each request, of text or of JSON, written a few times a second.

A line through ``logging`` costs as much as a fifth of a page; these are put together here, and go
to the same place. They hold no address, no query string, no header and no user.
"""

import asyncio
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from select import PIPE_BUF
from typing import TextIO
from urllib.parse import quote

import orjson

from server.logs import LogFormat

EVERY = 0.2
"""Seconds from a line to its writing; a server that is killed loses as much."""


class AccessLog:
    """Keeps lines for a moment, then writes them together."""

    def __init__(self, log_format: LogFormat, stream: TextIO | None = None) -> None:
        self._json = log_format == "json"
        self._stream = stream
        self._kept: list[tuple[float, dict[str, object]]] = []

    def add(self, fields: dict[str, object]) -> None:
        """Add a line with at least method, path, status, request_id and milliseconds."""
        if not self._kept:
            asyncio.get_running_loop().call_later(EVERY, self.flush)
        self._kept.append((time.time(), fields))

    def flush(self) -> None:
        """Write what is kept."""
        kept, self._kept = self._kept, []
        line = _json if self._json else _text
        stream = self._stream or sys.stderr
        for piece in _pieces(line(datetime.fromtimestamp(at, UTC), of) for at, of in kept):
            stream.write(piece)
            stream.flush()


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines together, as far as a pipe takes them undivided: other workers write to it too.

    A line that is longer goes alone.
    """
    piece, size = "", 0
    for line in lines:
        length = len(line.encode())
        if piece and size + length > PIPE_BUF:
            yield piece
            piece, size = "", 0
        piece += line
        size += length
    if piece:
        yield piece


def _json(at: datetime, fields: dict[str, object]) -> str:
    line = {"level": "INFO", "logger": "access", "time": at, **fields}
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE).decode()


def _text(at: datetime, fields: dict[str, object]) -> str:
    fields = dict(fields)
    first = [fields.pop(name) for name in ("method", "path", "status")]
    first[1] = quote(str(first[1]), safe="/:@~")
    request_id = fields.pop("request_id")
    said = [*map(str, first), *(f"{name}={_word(value)}" for name, value in fields.items())]
    when = f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}"
    return f"{when} INFO [{request_id}] {' '.join(said)}\n"


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
