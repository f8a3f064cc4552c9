"""Sets up the server's log: one line for each event, as text or JSON, with the request's id.

An exception is logged with its traceback. If the same exception is raised again within a minute, a
line without a traceback is logged. After ``LINES`` records in this minute, the exception is only
counted.
"""

import logging
import traceback
from typing import Literal, TextIO, TypeAlias

from asgi_correlation_id import CorrelationIdFilter
from pythonjsonlogger.orjson import OrjsonFormatter

LogFormat: TypeAlias = Literal["text", "json"]

WINDOW = 60.0
"""Minimum seconds between two tracebacks of the same exception."""

LINES = 100
"""Maximum number of records about the same exception within ``WINDOW`` seconds, including the
record with the traceback."""

FIRST_VALUES = 100
"""Maximum number of different values from clients that one place in the code logs."""

_JSON_NAMES = {
    "levelname": "level",
    "name": "logger",
    "message": "message",
    "correlation_id": "request_id",
    "exc_info": "traceback",
}


def set_up_logs(log_format: LogFormat) -> None:
    """Log warnings and errors to standard error, including those of libraries and of Python.

    The logger ``audit`` logs the user who writes or removes a shop's reply, because the reply
    itself does not name this user.
    """
    logging.basicConfig(level=logging.WARNING, handlers=[log_handler(log_format)])
    logging.getLogger("audit").setLevel(logging.INFO)
    logging.captureWarnings(capture=True)


def log_handler(log_format: LogFormat, stream: TextIO | None = None) -> logging.Handler:
    """Return a handler that writes lines to ``stream``. The default is standard error."""
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
    """Limits the values from clients that are logged, so that clients cannot fill the log."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def adds(self, value: str) -> bool:
        """Return True for each new value, until ``FIRST_VALUES`` values were logged."""
        new = value not in self._seen and len(self._seen) < FIRST_VALUES
        if new:
            self._seen.add(value)
        return new


class _StormFilter(logging.Filter):
    """Shortens the log records of an exception that is raised again and again.

    Two records are about the same fault if the logger, the class of the exception, and the line of
    code that raised it are the same. The text of the exception does not matter. So the number of
    different faults is limited by the code, and clients cannot increase it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._storms: dict[tuple[object, ...], tuple[float, int]] = {}
        """For each fault: the time when its traceback was last logged, and the number of records
        since that time."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record.

        If a traceback of the same fault was logged recently, replace the traceback by one line.
        """
        if not record.exc_info or record.exc_info[1] is None:
            return True
        error = record.exc_info[1]
        trace = traceback.walk_tb(record.exc_info[2])
        places = [(frame.f_code.co_filename, line) for frame, line in trace]
        # The last place is the line that raised the exception.
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
