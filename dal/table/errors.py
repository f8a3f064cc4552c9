"""The base of all errors of the data-access layer."""


class DalError(Exception):
    """The base class of every error that ``dal`` raises on purpose."""


class InvalidArgumentError(DalError):
    """A value is invalid. ``argument`` is the name of the argument in the API."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(message)
        self.argument = argument


class StoreRefusedError(DalError):
    """DynamoDB refused the request, and a retry cannot help.

    For example, a permission is missing.
    """


class OutdatedTableError(StoreRefusedError):
    """The table lacks a declared index, or has it in another form."""
