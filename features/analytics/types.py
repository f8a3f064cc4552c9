"""The GraphQL types of trends and movers."""

from datetime import datetime
from typing import Annotated

import strawberry

from dal import model
from features.analytics import questions
from features.analytics.questions import MAX_POINTS, Interval
from schema.costs import listed
from schema.execution.facts import EXPLAINED, REQUESTED, facts
from schema.statistics import RatingCount
from schema.types import show_enum

show_enum(
    Interval,
    "Length of a period. Each period begins at midnight UTC.",
    DAY="One day.",
    WEEK="One week from Monday to Sunday, as in ISO 8601.",
    MONTH="One calendar month.",
)


show_enum(
    questions.MovedBy,
    "Measure by which products are compared.",
    AVERAGE="The mean rating.",
    VOLUME="The number of new comments.",
)


_AS_OF = (
    "Time at which the last export to the analytics store began. The result includes all changes "
    "before this time."
)


@strawberry.type(description="How the analytics store computed the result.")
class AnalyticsSource:
    """The GraphQL type of ``features.analytics.questions.Source``."""

    store: str = strawberry.field(description="`DuckDB` or `ClickHouse`.")
    sql: str = strawberry.field(description="SQL statement that the store executed.")
    rows_exported: int = strawberry.field(description="Number of comments in the last export.")
    rows_read: int = strawberry.field(description="Number of rows that the store read.")
    milliseconds: float = strawberry.field(
        description="Duration of the statement in milliseconds. The server caches the result "
        "until the next export, so the statement may have run for an earlier request."
    )


@strawberry.type(description="The comments created in one period.")
class TrendPoint:
    """The GraphQL type of ``features.analytics.questions.TrendPoint``."""

    start: datetime = strawberry.field(description="Start of the period.")
    count: int = strawberry.field(description="Number of comments created in the period; may be 0.")
    average: float | None = strawberry.field(description="Mean rating; null without comments.")
    ratings: list[RatingCount] = strawberry.field(
        description="All five ratings, 5 first.", metadata=facts(reads=listed(5))
    )


@strawberry.type(
    description="A product's comments, grouped by the period in which they were created. Periods "
    "without comments are included."
)
class Trend:
    """The GraphQL type of ``features.analytics.questions.Trend``."""

    points: list[TrendPoint] = strawberry.field(
        description="Periods, earliest first. Maximum 400. The list is empty if no comment "
        "matches and `from` or `to` is omitted.",
        metadata=facts(reads=listed(60, MAX_POINTS)),
    )
    as_of: datetime = strawberry.field(description=_AS_OF)
    source: AnalyticsSource = strawberry.field(
        description="How the result was computed.",
        metadata=EXPLAINED,
    )


@strawberry.type(description="A period that includes `start` and excludes `end`.")
class Period:
    """The GraphQL type of ``features.analytics.questions.Period``."""

    start: datetime = strawberry.field(description="Start of the period, inclusive.")
    end: datetime = strawberry.field(description="End of the period, exclusive.")


@strawberry.type(description="Number and mean rating of a product's comments in one period.")
class PeriodTotals:
    """The GraphQL type of ``features.analytics.questions.Totals``."""

    count: int = strawberry.field(description="Number of comments created in the period; may be 0.")
    average: float | None = strawberry.field(description="Mean rating; null without comments.")


@strawberry.type(
    description="A product, with the number and mean rating of its comments in two periods."
)
class Mover:
    """The GraphQL type of ``features.analytics.questions.Mover``."""

    product: model.Product = strawberry.field(
        graphql_type=Annotated["Product", strawberry.lazy("schema.products")],
        description="The product.",
    )
    earlier: PeriodTotals = strawberry.field(description="Comments in the earlier period.")
    later: PeriodTotals = strawberry.field(description="Comments in the later period.")


@strawberry.type(description="The products with the largest changes between two periods.")
class Movers:
    """The GraphQL type of ``features.analytics.questions.Movers``."""

    earlier: Period = strawberry.field(description="The earlier of the two compared periods.")
    later: Period = strawberry.field(description="The later of the two compared periods.")
    products: list[Mover] = strawberry.field(
        description="Products with the largest change first. Products with equal changes are "
        "sorted by product id. Products without a change are omitted.",
        metadata=facts(sized=REQUESTED),
    )
    as_of: datetime = strawberry.field(description=_AS_OF)
    source: AnalyticsSource = strawberry.field(
        description="How the result was computed.",
        metadata=EXPLAINED,
    )
