"""The recorded engine as a process: one that outlived its owner is stopped before the next."""

import logging
from contextlib import suppress
from pathlib import Path

import psutil

from server.engine.data_directory import DataDirectory, EngineRecord

logger = logging.getLogger(__name__)

_DEADLINE = 5.0
"""Seconds between asking an engine to end and making it end."""


def runs(record: EngineRecord, database: Path) -> bool:
    """Tell whether the recorded engine runs over ``database``."""
    return _process(record, database) is not None


def end_orphan(directory: DataDirectory) -> None:
    """End what a killed owner left behind: two engines on one file do not see each other."""
    record = directory.record()
    if record and _stop(record, directory.database):
        logger.warning("The storage engine of a killed server was still running; it is stopped.")
    directory.forget_record()


def _stop(record: EngineRecord, database: Path) -> bool:
    """Stop the recorded engine if it still runs over ``database``; True when it did."""
    process = _process(record, database)
    if process is None:
        return False
    with suppress(psutil.NoSuchProcess):
        process.terminate()
        try:
            process.wait(_DEADLINE)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(_DEADLINE)
    return True


def _process(record: EngineRecord, database: Path) -> psutil.Process | None:
    """Return the engine's process; an id alone may have become another program's since."""
    try:
        process = psutil.Process(record.engine)
        command = process.cmdline()
    except psutil.Error:
        return None
    return process if str(database) in command else None
