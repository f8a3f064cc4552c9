"""Fields that query the analytics store: a product's trend, and the products that changed most."""

from datetime import datetime
from typing import Annotated

import strawberry

from dal.model import Product, rules
from dal.table.errors import InvalidArgumentError
from features.analytics.questions import (
    AT_LEAST,
    Interval,
    MovedBy,
    Movers,
    MoversQuestion,
    Span,
    Trend,
    TrendQuestion,
)
from features.analytics.service import Analytics
from resolvers.authorization import STAFF, require_role
from resolvers.selection import DEFAULT_SIZE, MAX_ROWS, Info, Languages
from schema.execution.facts import Effect, argument_fact

_MANY = 1_000_000


async def trend(
    root: strawberry.Parent[Product],
    info: Info,
    interval: Annotated[Interval, strawberry.argument(description="Length of each period.")],
    from_: Annotated[
        datetime | None,
        strawberry.argument(
            name="from",
            description="A time in the first period. If `from` is omitted, the trend begins with "
            "the first comment, and has only the last 400 periods if there are more. If `from` is "
            "given, and there are more than 400 periods, the field fails with BAD_ARGUMENT.",
        ),
    ] = None,
    to: Annotated[
        datetime | None,
        strawberry.argument(
            description="A time in the last period, or the end of the last period. Default: the "
            "period of the last comment.",
        ),
    ] = None,
    language: Languages = None,
) -> Trend:
    """Return the number of the product's comments in each period, by rating."""
    span = Span.of(interval, _instant("from", from_), _instant("to", to))
    languages = None if language is None else rules.languages("language", language)
    return await info.context.service(Analytics).trend(
        TrendQuestion(root.product_id, span, languages)
    )


async def movers(
    info: Info,
    interval: Annotated[Interval, strawberry.argument(description="Length of each period.")],
    by: Annotated[
        MovedBy | None,
        strawberry.argument(description="Measure by which products are compared. Default VOLUME."),
    ] = MovedBy.VOLUME,
    from_: Annotated[
        datetime | None,
        strawberry.argument(
            name="from",
            description="A time in the earlier period. Default: the period directly before the "
            "later period.",
        ),
    ] = None,
    to: Annotated[
        datetime | None,
        strawberry.argument(
            description="A time in the later period. Default: the last period that was complete "
            "at the time `asOf` of the result.",
        ),
    ] = None,
    at_least: Annotated[
        int | None,
        strawberry.argument(
            description="Minimum number of comments that a product must have in each of the two "
            "periods. Applies only with AVERAGE. Default 5.",
        ),
    ] = AT_LEAST,
    first: Annotated[
        int | None,
        strawberry.argument(
            description="Number of products to return. Default 20, maximum 100.",
            metadata=argument_fact(Effect.FIRST),
        ),
    ] = DEFAULT_SIZE,
) -> Movers:
    """Return the products with the largest change between two periods. For staff.

    ``by`` selects the measure: the mean rating, or the number of new comments.
    """
    require_role(info.context, STAFF, "see which products changed most")
    return await info.context.service(Analytics).movers(
        MoversQuestion(
            interval,
            by or MovedBy.VOLUME,
            _instant("from", from_),
            _instant("to", to),
            _within("first", DEFAULT_SIZE if first is None else first, MAX_ROWS),
            _within("atLeast", AT_LEAST if at_least is None else at_least, _MANY),
        )
    )


def _within(argument: str, value: int, most: int) -> int:
    if not 1 <= value <= most:
        raise InvalidArgumentError(
            argument, f"{argument} is {value}; it must be from 1 to {most:,}."
        )
    return value


def _instant(argument: str, value: datetime | None) -> datetime | None:
    return None if value is None else rules.instant(argument, value)
