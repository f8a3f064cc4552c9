"""The error that ends a command with one sentence instead of a traceback."""


class CommandError(Exception):
    """Something the person at the keyboard can mend; the message says how."""
