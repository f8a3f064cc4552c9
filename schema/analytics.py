"""Object types of trends and movers, shown straight from the domain objects."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import strawberry

from dal import model
from dal.analytics import questions
from dal.analytics.questions import Interval
from resolvers import analytics
from schema.statistics import RatingCount
from schema.types import show_enum

show_enum(
    Interval,
    "Length of a period, in UTC.",
    {
        Interval.DAY: "One day, from midnight.",
        Interval.WEEK: "One ISO 8601 week, from Monday.",
        Interval.MONTH: "One calendar month.",
    },
)
show_enum(
    questions.MovedBy,
    "Measure that movers are compared by.",
    {
        questions.MovedBy.AVERAGE: "The mean rating.",
        questions.MovedBy.VOLUME: "The number of new comments.",
    },
)


_AS_OF = "Time of the last export. The result includes every change made before it."


@strawberry.type(description="How the analytics store computed a result.")
class AnalyticsSource:
    """Shows dal.analytics.questions.Source."""

    store: str = strawberry.field(description="`DuckDB` or `ClickHouse`.")
    sql: str = strawberry.field(description="SQL statement that was run.")
    rows_exported: int = strawberry.field(description="Number of comments in the last export.")
    rows_read: int = strawberry.field(description="Number of rows the store read.")
    milliseconds: float = strawberry.field(
        description="Duration of the statement in milliseconds. Results are cached until the next "
        "export."
    )


@strawberry.type(description="The comments created in one period.")
class TrendPoint:
    """Shows dal.analytics.questions.TrendPoint."""

    start: datetime = strawberry.field(description="Start of the period.")
    count: int = strawberry.field(description="Number of comments created in the period; may be 0.")
    average: float | None = strawberry.field(description="Mean rating; null without comments.")
    ratings: list[RatingCount] = strawberry.field(description="All five ratings, 5 first.")


@strawberry.type(
    description="A product's comments per period of creation. Periods without comments are "
    "included."
)
class Trend:
    """Shows dal.analytics.questions.Trend."""

    points: list[TrendPoint] = strawberry.field(
        description="Periods, earliest first. Maximum 400; empty without comments."
    )
    as_of: datetime = strawberry.field(description=_AS_OF)
    source: questions.Source | None = strawberry.field(
        resolver=analytics.source,
        graphql_type=AnalyticsSource | None,
        description="How the result was computed; null unless the server explains its answers.",
    )


@strawberry.type(description="A period that includes `start` and excludes `end`.")
class Period:
    """Shows dal.analytics.questions.Period."""

    start: datetime = strawberry.field(description="Start of the period, inclusive.")
    end: datetime = strawberry.field(description="End of the period, exclusive.")


@strawberry.type(description="A product's comments in one period.")
class PeriodTotals:
    """Shows dal.analytics.questions.Totals."""

    count: int = strawberry.field(description="Number of comments created in the period; may be 0.")
    average: float | None = strawberry.field(description="Mean rating; null without comments.")


@strawberry.type(description="A product with its comments in two periods.")
class Mover:
    """Shows dal.analytics.questions.Mover."""

    product: model.Product = strawberry.field(
        graphql_type=Annotated["Product", strawberry.lazy("schema.comments")],  # noqa: F821 - it imports us
        description="The product.",
    )
    earlier: PeriodTotals = strawberry.field(description="Comments in the earlier period.")
    later: PeriodTotals = strawberry.field(description="Comments in the later period.")


@strawberry.type(description="The products with the largest changes between two periods.")
class Movers:
    """Shows dal.analytics.questions.Movers."""

    earlier: Period = strawberry.field(description="The earlier period, the baseline.")
    later: Period = strawberry.field(description="The later period.")
    products: list[Mover] = strawberry.field(
        description="Products by size of change, largest first; ties by product id. Unchanged "
        "products are omitted."
    )
    as_of: datetime = strawberry.field(description=_AS_OF)
    source: questions.Source | None = strawberry.field(
        resolver=analytics.source,
        graphql_type=AnalyticsSource | None,
        description="How the result was computed; null unless the server explains its answers.",
    )
