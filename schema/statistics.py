"""The GraphQL types of comment counts, now and over time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import strawberry

from dal import model
from dal.analytics import questions
from dal.analytics.questions import Interval
from dal.statistics.counts import CommentFacets as Counted
from resolvers import products
from resolvers.selection import EXPLAINED
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
    "Measure by which the products are compared.",
    {
        questions.MovedBy.AVERAGE: "The mean rating.",
        questions.MovedBy.VOLUME: "The number of new comments.",
    },
)


@strawberry.type(description="Number of comments with one rating.")
class RatingCount:
    """The GraphQL type of ``dal.statistics.counts.RatingCount``."""

    rating: int = strawberry.field(description="Rating from 1 to 5.")
    count: int = strawberry.field(description="Number of comments with the rating; may be 0.")


@strawberry.type(description="Number of comments in one language.")
class LanguageCount:
    """The GraphQL type of ``dal.statistics.counts.LanguageCount``."""

    language: str = strawberry.field(description="Language, as a BCP 47 tag.")
    count: int = strawberry.field(description="Number of comments in the language; at least 1.")


@strawberry.type(description="A value of the rating filter and its count.")
class RatingFacet:
    """The GraphQL type of ``dal.statistics.counts.RatingCount``."""

    rating: int = strawberry.field(description="Rating from 1 to 5.")
    count: int = strawberry.field(
        description="Number of comments with the rating that match the language filter."
    )
    selected: bool = strawberry.field(description="Whether the filter includes the value.")


@strawberry.type(description="A value of the language filter and its count.")
class LanguageFacet:
    """The GraphQL type of ``dal.statistics.counts.LanguageCount``."""

    language: str = strawberry.field(description="Language, as a BCP 47 tag.")
    count: int = strawberry.field(
        description="Number of comments in the language that match the rating filter."
    )
    selected: bool = strawberry.field(description="Whether the filter includes the value.")


@strawberry.type(
    description="Counts for filter controls. The counts by rating apply only the language "
    "filter. The counts by language apply only the rating filter."
)
class CommentFacets:
    """The GraphQL type of ``dal.statistics.counts.CommentFacets``."""

    total: int = strawberry.field(description="Number of comments that match both filters.")
    average: float | None = strawberry.field(
        description="Mean rating of the matching comments; null if no comment matches."
    )
    ratings: list[RatingFacet] = strawberry.field(description="All five ratings, 5 first.")
    languages: list[LanguageFacet] = strawberry.field(
        description="Languages with comments, most frequent first regardless of the filters, then "
        "selected languages without comments."
    )


@strawberry.type(
    description="Number of comments on a product, by rating and language. The counts are exact, "
    "but may lag behind writes for a moment if the server counts from the table's stream."
)
class CommentStatistics:
    """The GraphQL type of ``dal.statistics.counts.CommentStatistics``."""

    total: int = strawberry.field(description="Number of comments with any rating.")
    average: float | None = strawberry.field(description="Mean rating; null without comments.")
    histogram: list[RatingCount] = strawberry.field(description="All five ratings, 5 first.")
    languages: list[LanguageCount] = strawberry.field(
        description="Languages with comments, most frequent first."
    )
    facets: Counted | None = strawberry.field(
        resolver=products.facets,
        graphql_type=CommentFacets | None,
        description="Counts for the filters of `Product.comments` with the same arguments. "
        "Computed from these statistics without another read.",
    )


_AS_OF = "Time of the last export. The result includes every change made before it."


@strawberry.type(description="How the analytics store computed a result.")
class AnalyticsSource:
    """The GraphQL type of ``dal.analytics.questions.Source``."""

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
    """The GraphQL type of ``dal.analytics.questions.TrendPoint``."""

    start: datetime = strawberry.field(description="Start of the period.")
    count: int = strawberry.field(description="Number of comments created in the period; may be 0.")
    average: float | None = strawberry.field(description="Mean rating; null without comments.")
    ratings: list[RatingCount] = strawberry.field(description="All five ratings, 5 first.")


@strawberry.type(
    description="A product's comments, grouped by the period in which they were created. Periods "
    "without comments are included."
)
class Trend:
    """The GraphQL type of ``dal.analytics.questions.Trend``."""

    points: list[TrendPoint] = strawberry.field(
        description="Periods, earliest first. Maximum 400; empty without comments."
    )
    as_of: datetime = strawberry.field(description=_AS_OF)
    source: questions.Source = strawberry.field(
        graphql_type=AnalyticsSource,
        description="How the result was computed.",
        metadata=EXPLAINED,
    )


@strawberry.type(description="A period that includes `start` and excludes `end`.")
class Period:
    """The GraphQL type of ``dal.analytics.questions.Period``."""

    start: datetime = strawberry.field(description="Start of the period, inclusive.")
    end: datetime = strawberry.field(description="End of the period, exclusive.")


@strawberry.type(description="A product's comments in one period.")
class PeriodTotals:
    """The GraphQL type of ``dal.analytics.questions.Totals``."""

    count: int = strawberry.field(description="Number of comments created in the period; may be 0.")
    average: float | None = strawberry.field(description="Mean rating; null without comments.")


@strawberry.type(description="A product with its comments in two periods.")
class Mover:
    """The GraphQL type of ``dal.analytics.questions.Mover``."""

    product: model.Product = strawberry.field(
        graphql_type=Annotated["Product", strawberry.lazy("schema.comments")],  # noqa: F821 - a cyclic import
        description="The product.",
    )
    earlier: PeriodTotals = strawberry.field(description="Comments in the earlier period.")
    later: PeriodTotals = strawberry.field(description="Comments in the later period.")


@strawberry.type(description="The products with the largest changes between two periods.")
class Movers:
    """The GraphQL type of ``dal.analytics.questions.Movers``."""

    earlier: Period = strawberry.field(description="The earlier period, the baseline.")
    later: Period = strawberry.field(description="The later period.")
    products: list[Mover] = strawberry.field(
        description="Products by size of change, largest first; ties by product id. Unchanged "
        "products are omitted."
    )
    as_of: datetime = strawberry.field(description=_AS_OF)
    source: questions.Source = strawberry.field(
        graphql_type=AnalyticsSource,
        description="How the result was computed.",
        metadata=EXPLAINED,
    )
