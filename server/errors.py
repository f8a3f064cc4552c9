"""Errors of commands. A failed command prints a message, not a traceback, and has an exit code."""

from dal.errors import (
    ConditionFailedError,
    ConflictError,
    DalError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    ThrottledError,
)

INTERRUPTED = 130
"""Exit code after Ctrl-C, by the convention of shells: 128 and the signal's number."""


DIFFERS, USAGE, UNAVAILABLE = 1, 2, 3
"""Exit codes of failed commands. 1: a comparison found a difference, or rows were not loaded. 2: an
option, a file or the table must be changed first. 3: the store is unavailable."""

_UNAVAILABLE = (
    ConditionFailedError,
    ConflictError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    ThrottledError,
)


class CommandError(Exception):
    """An error that the operator can fix. The message says how; ``code`` is the exit code."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


def exit_code(error: CommandError | DalError) -> int:
    """Return the exit code of a command that failed with this error."""
    if isinstance(error, CommandError):
        return error.code
    return UNAVAILABLE if isinstance(error, _UNAVAILABLE) else USAGE


def installing(extra: str) -> str:
    """Return the command that installs one of the optional extras."""
    return f"`.venv/bin/pip install -c constraints.txt -e '.[{extra}]'`"
