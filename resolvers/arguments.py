"""Pagination arguments, checked and turned into a slice."""

from dataclasses import replace

from dal import cursors
from dal.cursors import Kind
from dal.errors import InvalidArgumentError, InvalidCursorError
from dal.slices import Slice
from resolvers.selection import Info, selects

DEFAULT_SIZE = 20
MAX_SIZE = 100


def slice_of(
    info: Info,
    first: int | None,
    after: str | None,
    last: int | None = None,
    before: str | None = None,
    *,
    kind: Kind = Kind.INSTANT,
) -> Slice:
    """Return the slice that Relay's four arguments ask for, with the flags that are selected.

    A cursor of another ``kind`` is another list's: InvalidCursorError.
    """
    return replace(
        plain_slice(first, after, last, before, kind=kind),
        next_page=selects(info, "pageInfo", "hasNextPage"),
        previous_page=selects(info, "pageInfo", "hasPreviousPage"),
    )


def plain_slice(
    first: int | None,
    after: str | None,
    last: int | None,
    before: str | None,
    *,
    kind: Kind = Kind.INSTANT,
) -> Slice:
    """Return the slice of Relay's four arguments; neither size means 20 rows."""
    if first is not None and last is not None:
        raise InvalidArgumentError("last", "Pass first or last, not both.")
    return Slice(
        limit=_size("first", first) if last is None else _size("last", last),
        backward=last is not None,
        after=_position("after", after, kind),
        before=_position("before", before, kind),
    )


def _size(argument: str, value: int | None) -> int:
    if value is None:
        return DEFAULT_SIZE
    if not 0 <= value <= MAX_SIZE:
        raise InvalidArgumentError(
            argument, f"{argument} is {value}; it goes from 0 to {MAX_SIZE}."
        )
    return value


def _position(argument: str, cursor: str | None, kind: Kind) -> str | None:
    if cursor is None:
        return None
    try:
        return cursors.decode(cursor, kind)
    except InvalidCursorError as error:
        raise InvalidCursorError(f"{argument}: {error}") from None
