"""The server's log: a line for each event, as text or JSON, with the id of the request.

An exception is logged with its traceback. If it is raised again within a minute, only one line is
logged. After ``LINES`` such lines it is only counted.
"""

import logging
import traceback
from typing import Literal, TextIO, TypeAlias

from asgi_correlation_id import CorrelationIdFilter
from pythonjsonlogger.orjson import OrjsonFormatter

LogFormat: TypeAlias = Literal["text", "json"]

WINDOW = 60.0
"""Minimum seconds between two tracebacks of the same fault."""

LINES = 100
"""Maximum lines about one fault within ``WINDOW``."""

FIRST_VALUES = 100
"""Maximum different values from clients that one place in the code logs."""

_JSON_NAMES = {
    "levelname": "level",
    "name": "logger",
    "message": "message",
    "correlation_id": "request_id",
    "exc_info": "traceback",
}


def set_up_logs(log_format: LogFormat) -> None:
    """Log warnings and errors to standard error, also from libraries and from Python.

    The logger ``audit`` logs which user wrote a reply, because the reply itself names only the
    shop.
    """
    logging.basicConfig(level=logging.WARNING, handlers=[log_handler(log_format)])
    logging.getLogger("audit").setLevel(logging.INFO)
    logging.captureWarnings(capture=True)


def log_handler(log_format: LogFormat, stream: TextIO | None = None) -> logging.Handler:
    """Return a handler that writes lines to ``stream``, by default standard error."""
    handler = logging.StreamHandler(stream)
    handler.addFilter(CorrelationIdFilter(default_value="-"))
    handler.addFilter(_StormFilter())
    if log_format == "text":
        handler.setFormatter(
            logging.Formatter("%(asctime)s %(levelname)s [%(correlation_id)s] %(message)s")
        )
    else:
        fields = [name for name in _JSON_NAMES if name != "exc_info"]
        handler.setFormatter(OrjsonFormatter(fields, rename_fields=_JSON_NAMES, timestamp="time"))
    return handler


class FirstValues:
    """Decides which values from clients are logged: only the first different ones, each once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def adds(self, value: str) -> bool:
        """Return whether to log a value: each new value, until ``FIRST_VALUES`` were logged."""
        new = value not in self._seen and len(self._seen) < FIRST_VALUES
        if new:
            self._seen.add(value)
        return new


class _StormFilter(logging.Filter):
    """Shortens the log records of a fault that repeats.

    Two records are about the same fault if they have the same logger, the same class of exception,
    and the same place where it was raised. So the code limits the number of different faults.
    """

    def __init__(self) -> None:
        super().__init__()
        self._storms: dict[tuple[object, ...], tuple[float, int]] = {}
        """For each fault: when its traceback was last logged, and the number of records since
        then."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record.

        Replace the traceback by one line, unless the last traceback of the fault is old enough.
        """
        if not record.exc_info or record.exc_info[1] is None:
            return True
        error = record.exc_info[1]
        trace = traceback.walk_tb(record.exc_info[2])
        places = [(frame.f_code.co_filename, line) for frame, line in trace]
        # the last place is where the exception was raised
        fault = (record.name, type(error), *places[-1:])
        begun, records = self._storms.get(fault, (float("-inf"), 0))
        if record.created - begun >= WINDOW:
            self._storms[fault] = record.created, 1
            if records > LINES:
                _reword(record, f" ({records - LINES:,} more of these were not logged)")
            return True
        self._storms[fault] = begun, records + 1
        _reword(record, f": {type(error).__name__}: {' '.join(str(error).split())}")
        record.exc_info = record.exc_text = None
        return records < LINES


def _reword(record: logging.LogRecord, more: str) -> None:
    record.msg, record.args = f"{record.getMessage()}{more}", ()
