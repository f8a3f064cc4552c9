"""What all connections share: Relay's four arguments as a slice, and the plan of their page."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from math import isnan
from typing import Annotated, Any, TypeAlias

import strawberry

from dal.errors import InvalidArgumentError, InvalidCursorError
from dal.limits import MAX_ROWS
from dal.query.pagination import CursorKind, Page, Slice, decode_cursor
from dal.query.plan import PlanBasis
from dal.query.trace import ExecutionStatistics
from resolvers.enums import show_enum
from resolvers.plans import TRACED
from resolvers.request.selection import Info, below, selects, weight

DEFAULT_SIZE = 20

CreatedFrom: TypeAlias = Annotated[
    datetime | None, strawberry.argument(description="Return rows created at or after this time.")
]
CreatedBefore: TypeAlias = Annotated[
    datetime | None, strawberry.argument(description="Return rows created before this time.")
]


class DateOrder(StrEnum):
    """The orders of a list by date."""

    NEWEST = "NEWEST"
    OLDEST = "OLDEST"


show_enum(
    DateOrder,
    "Sort order of a list by date.",
    {
        DateOrder.NEWEST: "Newest first.",
        DateOrder.OLDEST: "Oldest first.",
    },
)


OrderBy: TypeAlias = Annotated[
    DateOrder | None, strawberry.argument(description="Sort order. Default NEWEST.")
]


class CommentOrder(StrEnum):
    """The orders of comments."""

    NEWEST = "NEWEST"
    OLDEST = "OLDEST"


show_enum(
    CommentOrder,
    "Sort order of comments.",
    {
        CommentOrder.NEWEST: "Newest first, by creation time.",
        CommentOrder.OLDEST: "Oldest first, by creation time.",
    },
)

CommentOrderBy: TypeAlias = Annotated[
    CommentOrder | None, strawberry.argument(description="Sort order. Default NEWEST.")
]


def slice_of(
    info: Info,
    first: int | None,
    after: str | None,
    last: int | None = None,
    before: str | None = None,
    *,
    kind: CursorKind = CursorKind.INSTANT,
    order_by: StrEnum | None = None,
    plan_by: PlanBasis | None = None,
) -> Slice:
    """Return the slice that the current field requests, with the selected flags.

    A cursor of another ``kind`` is another list's: InvalidCursorError. A null order is the newest
    first. Only a server that explains plans by anything but all that it knows.
    """
    if plan_by is not None and not info.context.explain:
        raise InvalidArgumentError(
            "planBy", "This server does not explain its plans: leave planBy out."
        )
    return replace(
        plain_slice(first, after, last, before, kind=kind),
        next_page=selects(info, "pageInfo", "hasNextPage"),
        previous_page=selects(info, "pageInfo", "hasPreviousPage"),
        reverse=order_by == DateOrder.OLDEST,
        explain=info.context.explain and any(selects(info, "plan", one) for one in TRACED),
        plan_by=plan_by,
    )


def first_slice(info: Info, field: str, *, kind: CursorKind = CursorKind.INSTANT) -> Slice | None:
    """Return the slice that ``field`` below the current field requests, if it begins the list.

    None when the request does not select it so, filters it or has a fault in its arguments: then
    the field reads for itself.
    """
    for selected in below(info, field):
        given = selected.arguments
        usual = given.get("orderBy", DateOrder.NEWEST) == DateOrder.NEWEST
        if not (usual and given.keys() <= {"first", "before", "orderBy"}):
            continue
        try:
            cut = plain_slice(given.get("first"), None, None, given.get("before"), kind=kind)
        except (InvalidArgumentError, InvalidCursorError):
            continue
        return replace(
            cut,
            next_page=selected.selects("pageInfo", "hasNextPage"),
            previous_page=selected.selects("pageInfo", "hasPreviousPage"),
            explain=info.context.explain and any(selected.selects("plan", one) for one in TRACED),
        )
    return None


def plain_slice(
    first: int | None,
    after: str | None,
    last: int | None,
    before: str | None,
    *,
    kind: CursorKind = CursorKind.INSTANT,
) -> Slice:
    """Return the slice of Relay's four arguments, without flags; neither size means 20 rows."""
    if first is not None and last is not None:
        raise InvalidArgumentError("last", "Pass first or last, not both.")
    return Slice(
        limit=_size("first", first) if last is None else _size("last", last),
        backward=last is not None,
        after=_position("after", after, kind),
        before=_position("before", before, kind),
    )


def edges(root: strawberry.Parent[Page[Any]], info: Info) -> Any:
    """Return the rows of the page with their cursors, at their turn."""
    return _paced(info, root.edges)


def nodes(root: strawberry.Parent[Page[Any]], info: Info) -> Any:
    """Return the rows of the page, at their turn."""
    return _paced(info, root.nodes)


def _paced(info: Info, rows: Sequence[Any]) -> Any:
    pace = info.context.pace
    return pace.rows(rows, weight(info)) if pace.slow else rows


def plan(root: strawberry.Parent[Page[Any]], info: Info) -> ExecutionStatistics | None:
    """Return what reading the page has cost; None unless the server explains."""
    return root.stats if info.context.explain else None


def consumed_capacity(root: strawberry.Parent[ExecutionStatistics]) -> float | None:
    """Return the capacity that the page consumed; None if the endpoint does not report it."""
    return _told(root.consumed_capacity)


def planning_capacity(root: strawberry.Parent[ExecutionStatistics]) -> float | None:
    """Return the capacity that statistics consumed; None if the endpoint does not report it."""
    return _told(root.planning_capacity)


def _told(capacity: float) -> float | None:
    return None if isnan(capacity) else capacity


def _size(argument: str, value: int | None) -> int:
    if value is None:
        return DEFAULT_SIZE
    if not 0 <= value <= MAX_ROWS:
        raise InvalidArgumentError(
            argument, f"{argument} is {value}; it goes from 0 to {MAX_ROWS}."
        )
    return value


def _position(argument: str, cursor: str | None, kind: CursorKind) -> str | None:
    if cursor is None:
        return None
    try:
        return decode_cursor(cursor, kind)
    except InvalidCursorError as error:
        raise InvalidCursorError(f"{argument}: {error}") from None
