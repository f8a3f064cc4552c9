"""The access log: a line for each request, as text or JSON, on standard error.

A line does not contain the query string, the headers, the client's address, or the user who sent
the request. This module does not use ``logging``, because a line would then take a fifth of the
time that the server needs for a page.
"""

import sys
from datetime import UTC, datetime
from typing import TextIO
from urllib.parse import quote

import orjson

from server.logs import LogFormat


class AccessLog:
    """Writes a line for each request to ``stream``, by default to standard error.

    Each call of ``stream.write`` writes one whole line, so that lines of several workers do not
    mix. The workers share the pipe of standard error, and POSIX does not mix writes of at most
    ``PIPE_BUF`` bytes: https://pubs.opengroup.org/onlinepubs/9699919799/functions/write.html
    """

    def __init__(self, log_format: LogFormat, stream: TextIO | None = None) -> None:
        self._line = _json if log_format == "json" else _text
        self._stream = stream

    def add(self, fields: dict[str, object]) -> None:
        """Write a line. ``fields`` include method, path, status, request_id and milliseconds."""
        (self._stream or sys.stderr).write(self._line(datetime.now(UTC), fields))


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
