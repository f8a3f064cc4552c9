"""The access log: a line for each request, of text or of JSON, written a few times a second.

A line through ``logging`` costs as much as a fifth of a page. Therefore lines are collected here
and written together, to the same stream. They hold no address, query string, header or user.
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
"""Seconds until a line is written; a killed server loses the lines of that time."""


class AccessLog:
    """Collects lines for a moment, then writes them together."""

    def __init__(self, log_format: LogFormat, stream: TextIO | None = None) -> None:
        self._line = _json if log_format == "json" else _text
        self._stream = stream
        self._kept: list[tuple[float, dict[str, object]]] = []

    def add(self, fields: dict[str, object]) -> None:
        """Add a line with at least method, path, status, request_id and milliseconds."""
        if not self._kept:
            asyncio.get_running_loop().call_later(EVERY, self.flush)
        self._kept.append((time.time(), fields))

    def flush(self) -> None:
        """Write all collected lines."""
        kept, self._kept = self._kept, []
        stream = self._stream or sys.stderr
        lines = (self._line(datetime.fromtimestamp(at, UTC), fields) for at, fields in kept)
        for piece in _pieces(lines):
            stream.write(piece)
            stream.flush()


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines joined up to ``PIPE_BUF`` bytes; a longer line alone.

    Workers share the pipe of standard error, and POSIX writes no more than ``PIPE_BUF`` bytes to a
    pipe in one piece: https://pubs.opengroup.org/onlinepubs/9699919799/functions/write.html
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
    rest = dict(fields)
    method, path, status, request_id = map(rest.pop, ("method", "path", "status", "request_id"))
    values = [
        f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in rest.items()
    ]
    when = f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}"
    shown = quote(str(path), safe="/:@~")
    return f"{when} INFO [{request_id}] {method} {shown} {status} {' '.join(values)}\n"
