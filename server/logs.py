"""The server's log: a line for each event, of text or of JSON, with the id of the request.

An exception is logged with its traceback. The same exception again within a minute is one line, and
after ``LINES`` lines it is only counted.
"""

import logging
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, TextIO, TypeAlias

from asgi_correlation_id import CorrelationIdFilter
from pythonjsonlogger.orjson import OrjsonFormatter

LogFormat: TypeAlias = Literal["text", "json"]

WINDOW = 60.0
"""Seconds from one traceback of a fault to its next."""

LINES = 100
"""Lines of one fault in that time."""

FIRST_VALUES = 100
"""Different values from clients that one place of the code logs."""

_JSON_NAMES = {
    "levelname": "level",
    "name": "logger",
    "message": "message",
    "correlation_id": "request_id",
    "exc_info": "traceback",
}


def set_up_logs(log_format: LogFormat) -> None:
    """Log warnings and errors to standard error, including those of libraries and of Python."""
    logging.basicConfig(level=logging.WARNING, handlers=[log_handler(log_format)])
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
    """The first values from clients that are logged, each once; clients may send any number."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def adds(self, value: str) -> bool:
        """Return whether a value is new and among the first."""
        new = value not in self._seen and len(self._seen) < FIRST_VALUES
        if new:
            self._seen.add(value)
        return new


@dataclass(slots=True)
class _Storm:
    """The records of one fault since its last traceback."""

    begun: float
    records: int = 0

    @property
    def left_out(self) -> int:
        return max(0, self.records - LINES)


class _StormFilter(logging.Filter):
    """Shortens the records of a fault that repeats.

    A fault is an exception of one class, raised at one place and logged by one logger, so the
    number of faults is limited by the code.
    """

    def __init__(self) -> None:
        super().__init__()
        self._storms: dict[tuple[object, ...], _Storm] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record; replace its traceback by a line unless it is due."""
        if not record.exc_info or record.exc_info[1] is None:
            return True
        error = record.exc_info[1]
        fault = (record.name, type(error), *_place(record.exc_info[2]))
        storm = self._storms.get(fault)
        if storm is None or record.created - storm.begun >= WINDOW:
            self._storms[fault] = _Storm(record.created, records=1)
            if storm is not None and storm.left_out:
                _reword(record, f" ({storm.left_out:,} more of these were not logged)")
            return True
        storm.records += 1
        _reword(record, f": {type(error).__name__}: {' '.join(str(error).split())}")
        record.exc_info = record.exc_text = None
        return not storm.left_out


def _place(trace: TracebackType | None) -> tuple[str, int]:
    """Return the file and the line where an exception was raised."""
    if trace is None:
        return "", 0
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename, trace.tb_lineno


def _reword(record: logging.LogRecord, more: str) -> None:
    record.msg, record.args = f"{record.getMessage()}{more}", ()
