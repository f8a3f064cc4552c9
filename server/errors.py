"""How a command ends before its time: with one sentence instead of a traceback, or by Ctrl-C."""

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
"""The exit code of a program that Ctrl-C ended, by the convention of shells."""


DIFFERS, USAGE, UNAVAILABLE = 1, 2, 3
"""Exit codes of failed commands: a comparison found a difference or rows were not loaded; an
option, a file or the table must be changed first; the store cannot be used now."""

_UNAVAILABLE = (
    ConditionFailedError,
    ConflictError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    ThrottledError,
)


class CommandError(Exception):
    """A fault that the operator can fix. The message explains how; ``code`` is the exit code."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


def exit_code(error: CommandError | DalError) -> int:
    """Return the code with which an error ends a command."""
    if isinstance(error, CommandError):
        return error.code
    return UNAVAILABLE if isinstance(error, _UNAVAILABLE) else USAGE


def installing(extra: str) -> str:
    """Return the command that installs an extra into a clone."""
    return f"`.venv/bin/pip install -c constraints.txt -e '.[{extra}]'`"
