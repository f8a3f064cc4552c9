"""Look-ahead for pages that a resolver reads in one Query with its own object."""

from dataclasses import replace

from dal.cursors import Kind
from dal.errors import InvalidArgumentError, InvalidCursorError
from dal.slices import Slice
from resolvers.arguments import plain_slice
from resolvers.selection import Info, below


def first_slice(info: Info, field: str, *, kind: Kind = Kind.INSTANT) -> Slice | None:
    """Return the slice that ``field`` below the current one asks for, if it begins the list.

    None when the request does not select it so, filters it or has a fault in its arguments: then
    the field reads for itself.
    """
    for selected in below(info, field):
        given = selected.arguments
        if not given.keys() <= {"first", "before"}:
            continue
        try:
            cut = plain_slice(given.get("first"), None, None, given.get("before"), kind=kind)
        except (InvalidArgumentError, InvalidCursorError):
            continue
        return replace(
            cut,
            next_page=selected.selects("pageInfo", "hasNextPage"),
            previous_page=selected.selects("pageInfo", "hasPreviousPage"),
        )
    return None
