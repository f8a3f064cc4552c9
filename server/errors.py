"""How a command ends before its time: with one sentence instead of a traceback, or by Ctrl-C."""

INTERRUPTED = 130
"""The exit code that shells expect of a program that Ctrl-C ended."""


class CommandError(Exception):
    """Something the person at the keyboard can mend; the message says how."""


def installing(extra: str) -> str:
    """Return the command that installs an extra into a clone."""
    return f"`.venv/bin/pip install -c constraints.txt -e '.[{extra}]'`"
