"""Questions about all comments at once, which the analytics store answers."""

from datetime import datetime
from typing import Annotated

import strawberry

from analytics.periods import Interval, Span
from analytics.questions import (
    AT_LEAST,
    MovedBy,
    Movers,
    MoversQuestion,
    Source,
    Trend,
    TrendQuestion,
)
from dal.errors import InvalidArgumentError
from dal.limits import MAX_ROWS
from dal.model import Product, rules
from resolvers.connections import DEFAULT_SIZE
from resolvers.enums import show_enum
from resolvers.request.authorization import require_staff, require_viewer
from resolvers.request.selection import Info

_MANY = 1_000_000

show_enum(
    Interval,
    "How long a period is, in UTC.",
    {
        Interval.DAY: "From midnight to midnight.",
        Interval.WEEK: "From Monday on, as in ISO 8601.",
        Interval.MONTH: "A month of the calendar.",
    },
)
show_enum(
    MovedBy,
    "What of a product moved.",
    {
        MovedBy.AVERAGE: "The mean rating.",
        MovedBy.VOLUME: "How many comments it got.",
    },
)


async def trend(
    root: strawberry.Parent[Product],
    info: Info,
    interval: Annotated[Interval, strawberry.argument(description="How long each period is.")],
    from_: Annotated[
        datetime | None,
        strawberry.argument(
            name="from",
            description="The first period is the one of this instant. Left out, that of the first "
            "comment, or the 400th before the last.",
        ),
    ] = None,
    to: Annotated[
        datetime | None,
        strawberry.argument(
            description="The last period is the one that ends here, or has begun by then. Left "
            "out, that of the last comment.",
        ),
    ] = None,
    language: list[str] | None = None,
) -> Trend:
    """Return the product's comments over time."""
    span = Span.of(interval, _instant("from", from_), _instant("to", to))
    languages = None if language is None else rules.languages("language", language)
    return await info.context.analytics.trend(TrendQuestion(root.product_id, span, languages))


async def movers(
    info: Info,
    interval: Annotated[Interval, strawberry.argument(description="How long each period is.")],
    by: Annotated[
        MovedBy | None, strawberry.argument(description="What moved; null is VOLUME.")
    ] = MovedBy.VOLUME,
    from_: Annotated[
        datetime | None,
        strawberry.argument(
            name="from",
            description="An instant within the earlier period. Left out, it is the period before "
            "the later one.",
        ),
    ] = None,
    to: Annotated[
        datetime | None,
        strawberry.argument(
            description="An instant within the later period. Left out, it is the last period "
            "that was over at `asOf`.",
        ),
    ] = None,
    at_least: Annotated[
        int | None,
        strawberry.argument(
            description="By AVERAGE, products with fewer comments in one of the periods do not "
            "count; null is 5.",
        ),
    ] = AT_LEAST,
    first: Annotated[
        int | None,
        strawberry.argument(description="How many products: 100 at most; null is 20."),
    ] = DEFAULT_SIZE,
) -> Movers:
    """Return the products that moved most between two periods; for staff."""
    require_staff(require_viewer(info.context), "see what moves")
    return await info.context.analytics.movers(
        MoversQuestion(
            interval,
            by or MovedBy.VOLUME,
            _instant("from", from_),
            _instant("to", to),
            _within("first", DEFAULT_SIZE if first is None else first, MAX_ROWS),
            _within("atLeast", AT_LEAST if at_least is None else at_least, _MANY),
        )
    )


def source(root: strawberry.Parent[Trend | Movers], info: Info) -> Source | None:
    """Return where the answer comes from; None unless the server explains."""
    return root.source if info.context.explain else None


def _within(argument: str, value: int, most: int) -> int:
    if not 1 <= value <= most:
        raise InvalidArgumentError(argument, f"{argument} is {value}; it goes from 1 to {most:,}.")
    return value


def _instant(argument: str, value: datetime | None) -> datetime | None:
    return None if value is None else rules.instant(argument, value)
