"""Errors of commands, and the exit codes with which failed commands end."""

from dal.dynamodb.errors import (
    ConditionFailedError,
    ConflictError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.table.errors import DalError, OutdatedTableError

INTERRUPTED = 130
"""The exit code after Ctrl-C. Shells use 128 plus the number of the signal, which is 2."""


DIFFERS, USAGE, UNAVAILABLE, UNSUITABLE = 1, 2, 3, 4
"""The exit codes of failed commands. 1: the command did its work, but found wrong statistics, a
dangerous setting or an operation over its budget, or could not load or export some rows. 2: the
operator must change an option, a file or the table. 3: the store or the port cannot be used now,
for example because the store cannot be reached, is full or is damaged. 4: the table lacks an index,
or a backup is damaged."""

_UNAVAILABLE = (
    ConditionFailedError,
    ConflictError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    ThrottledError,
)


class CommandError(Exception):
    """An error that the operator can fix. The message explains how. ``code`` is the exit code."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


def exit_code(error: CommandError | DalError) -> int:
    """Return the exit code of a command that failed with this error."""
    if isinstance(error, CommandError):
        return error.code
    if isinstance(error, OutdatedTableError):
        return UNSUITABLE
    return UNAVAILABLE if isinstance(error, _UNAVAILABLE) else USAGE


def installing(extra: str) -> str:
    """Return the command that installs an optional part of the package (an extra)."""
    return f"`.venv/bin/pip install -c constraints.txt -e '.[{extra}]'`"
