"""Object types of trends and movers, shown straight from the domain objects."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import strawberry

from analytics import questions
from dal import model
from resolvers import analytics
from schema.statistics import RatingCount

_AS_OF = "When the data was last exported. Every earlier change of a comment is in the answer."


@strawberry.type(description="Where an answer of analytics comes from, and what it took.")
class AnalyticsSource:
    """Shows analytics.questions.Source."""

    store: str = strawberry.field(description="`DuckDB` or `ClickHouse`.")
    sql: str = strawberry.field(description="The question as it was asked.")
    rows_exported: int = strawberry.field(description="The comments of the last export.")
    rows_read: int = strawberry.field(description="How many rows the store read for it.")
    milliseconds: float = strawberry.field(
        description="What it took when it was asked; answers are kept until the data changes."
    )


@strawberry.type(description="The comments that were made in one period.")
class TrendPoint:
    """Shows analytics.questions.TrendPoint."""

    start: datetime = strawberry.field(description="When the period begins.")
    count: int = strawberry.field(description="How many comments were made in it; may be 0.")
    average: float | None = strawberry.field(
        description="Their mean rating; null without comments."
    )
    ratings: list[RatingCount] = strawberry.field(description="All five ratings, 5 first.")


@strawberry.type(
    description="A product's comments over time, by when they were made, in whole periods without "
    "a gap."
)
class Trend:
    """Shows analytics.questions.Trend."""

    points: list[TrendPoint] = strawberry.field(
        description="The earliest first, 400 at most; none where there is no comment."
    )
    as_of: datetime = strawberry.field(description=_AS_OF)
    source: questions.Source | None = strawberry.field(
        resolver=analytics.source,
        graphql_type=AnalyticsSource | None,
        description="Null unless the server explains.",
    )


@strawberry.type(description="A time from `start` on, and before `end`.")
class Period:
    """Shows analytics.periods.Period."""

    start: datetime = strawberry.field(description="When it begins.")
    end: datetime = strawberry.field(description="When the next one begins.")


@strawberry.type(description="A product's comments in one period.")
class PeriodTotals:
    """Shows analytics.questions.Totals."""

    count: int = strawberry.field(description="How many comments were made in it; may be 0.")
    average: float | None = strawberry.field(
        description="Their mean rating; null without comments."
    )


@strawberry.type(description="A product that moved between two periods.")
class Mover:
    """Shows analytics.questions.Mover."""

    product: model.Product = strawberry.field(
        graphql_type=Annotated["Product", strawberry.lazy("schema.comments")],  # noqa: F821 - it imports us
        description="Which product it is.",
    )
    earlier: PeriodTotals = strawberry.field(description="In the earlier period.")
    later: PeriodTotals = strawberry.field(description="In the later period.")


@strawberry.type(description="The products that moved most between two periods.")
class Movers:
    """Shows analytics.questions.Movers."""

    earlier: Period = strawberry.field(description="The period that is compared with.")
    later: Period = strawberry.field(description="The period that is compared.")
    products: list[Mover] = strawberry.field(
        description="The one that moved most first; products that did not move are left out, and "
        "of two that moved alike the lesser id comes first."
    )
    as_of: datetime = strawberry.field(description=_AS_OF)
    source: questions.Source | None = strawberry.field(
        resolver=analytics.source,
        graphql_type=AnalyticsSource | None,
        description="Null unless the server explains.",
    )
