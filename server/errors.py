"""Errors that end a command with one sentence instead of a traceback."""


class UserError(Exception):
    """Something the person at the keyboard can mend; the message says how."""
