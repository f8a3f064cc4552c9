"""Errors of queries and cursors."""

from dal.table.errors import DalError


class InvalidCursorError(DalError):
    """A text is not a cursor of this list, for example because the text was cut off."""


class NoIndexError(DalError):
    """No index or counter can answer a query, or the query would read too many rows."""


class TooManySegmentsError(DalError):
    """A page would read too many partitions, or read and drop too many rows.

    The error also occurs if an operation would read too many partitions for all of its lists.
    """
