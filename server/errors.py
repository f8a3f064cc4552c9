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
"""The exit code that shells expect of a program that Ctrl-C ended."""


DIFFERS, USAGE, UNAVAILABLE = 1, 2, 3
"""The exit codes of a command that was not done: what it compares or loads is not right; what was
given to it, or what it works on, is to be changed first; the store cannot be used now."""

_UNAVAILABLE = (
    ConditionFailedError,
    ConflictError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    ThrottledError,
)


class CommandError(Exception):
    """Something that the operator can change; the message says how, ``code`` is the exit code."""

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
