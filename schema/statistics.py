"""The GraphQL types of comment counts, now and over time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import strawberry

from dal import model
from dal.analytics import questions
from dal.analytics.questions import Interval
from dal.counts.counts import CommentFacets as Counted
from resolvers import products
from resolvers.selection import EXPLAINED
from schema.types import show_enum

show_enum(
    Interval,
    "Length of a period. Each period begins at midnight UTC.",
    {
        Interval.DAY: "One day.",
        Interval.WEEK: "One week from Monday to Sunday, as in ISO 8601.",
        Interval.MONTH: "One calendar month.",
    },
)
show_enum(
    questions.MovedBy,
    "Measure by which products are compared.",
    {
        questions.MovedBy.AVERAGE: "The mean rating.",
        questions.MovedBy.VOLUME: "The number of new comments.",
    },
)


@strawberry.type(description="Number of comments with one rating.")
class RatingCount:
    """The GraphQL type of ``dal.counts.counts.RatingCount``."""

    rating: int = strawberry.field(description="Rating from 1 to 5.")
    count: int = strawberry.field(description="Number of comments with the rating; may be 0.")


@strawberry.type(description="Number of comments in one language.")
class LanguageCount:
    """The GraphQL type of ``dal.counts.counts.LanguageCount``."""

    language: str = strawberry.field(description="Language, as a BCP 47 tag.")
    count: int = strawberry.field(description="Number of comments in the language; at least 1.")


@strawberry.type(description="A rating to filter by, with its number of comments.")
class RatingFacet:
    """The GraphQL type of ``dal.counts.counts.RatingCount``."""

    rating: int = strawberry.field(description="Rating from 1 to 5.")
    count: int = strawberry.field(
        description="Number of comments with this rating in the selected languages."
    )
    selected: bool = strawberry.field(
        description="Whether the argument `rating` includes this rating."
    )


@strawberry.type(description="A language to filter by, with its number of comments.")
class LanguageFacet:
    """The GraphQL type of ``dal.counts.counts.LanguageCount``."""

    language: str = strawberry.field(description="Language, as a BCP 47 tag.")
    count: int = strawberry.field(
        description="Number of comments in this language with the selected ratings."
    )
    selected: bool = strawberry.field(
        description="Whether the argument `language` includes this language."
    )


@strawberry.type(
    description="Numbers of comments to show next to filter controls. The count of a rating "
    "includes only the selected languages. The count of a language includes only the selected "
    "ratings. A filter that is omitted selects all its values."
)
class CommentFacets:
    """The GraphQL type of ``dal.counts.counts.CommentFacets``."""

    total: int = strawberry.field(description="Number of comments that match both filters.")
    average: float | None = strawberry.field(
        description="Mean rating of the matching comments; null if no comment matches."
    )
    ratings: list[RatingFacet] = strawberry.field(description="All five ratings, 5 first.")
    languages: list[LanguageFacet] = strawberry.field(
        description="The 100 most frequent languages with comments, most frequent first, followed "
        "by other selected languages. The filters do not change the order."
    )


@strawberry.type(
    description="Numbers of comments on a product or a group, by rating and language. On some "
    "servers, the counts lag behind writes for a moment."
)
class CommentStatistics:
    """The GraphQL type of ``dal.counts.counts.CommentStatistics``."""

    total: int = strawberry.field(description="Number of comments with any rating.")
    average: float | None = strawberry.field(description="Mean rating; null without comments.")
    histogram: list[RatingCount] = strawberry.field(description="All five ratings, 5 first.")
    languages: list[LanguageCount] = strawberry.field(
        description="Languages that have comments, most frequent first. Maximum 100."
    )
    facets: Counted | None = strawberry.field(
        resolver=products.facets,
        graphql_type=CommentFacets | None,
        description="Counts to show next to the filters of `Product.comments`. Pass the same "
        "`rating` and `language` as to that list. The server computes the counts without another "
        "read.",
    )


_AS_OF = (
    "Time at which the last export to the analytics store began. The result includes all changes "
    "before this time."
)


@strawberry.type(description="How the analytics store computed the result.")
class AnalyticsSource:
    """The GraphQL type of ``dal.analytics.questions.Source``."""

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
        description="Periods, earliest first. Maximum 400. The list is empty if no comment "
        "matches and `from` or `to` is omitted."
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


@strawberry.type(description="Number and mean rating of a product's comments in one period.")
class PeriodTotals:
    """The GraphQL type of ``dal.analytics.questions.Totals``."""

    count: int = strawberry.field(description="Number of comments created in the period; may be 0.")
    average: float | None = strawberry.field(description="Mean rating; null without comments.")


@strawberry.type(
    description="A product, with the number and mean rating of its comments in two periods."
)
class Mover:
    """The GraphQL type of ``dal.analytics.questions.Mover``."""

    product: model.Product = strawberry.field(
        graphql_type=Annotated["Product", strawberry.lazy("schema.products")],
        description="The product.",
    )
    earlier: PeriodTotals = strawberry.field(description="Comments in the earlier period.")
    later: PeriodTotals = strawberry.field(description="Comments in the later period.")


@strawberry.type(description="The products with the largest changes between two periods.")
class Movers:
    """The GraphQL type of ``dal.analytics.questions.Movers``."""

    earlier: Period = strawberry.field(description="The earlier of the two compared periods.")
    later: Period = strawberry.field(description="The later of the two compared periods.")
    products: list[Mover] = strawberry.field(
        description="Products with the largest change first. Products with equal changes are "
        "sorted by product id. Products without a change are omitted."
    )
    as_of: datetime = strawberry.field(description=_AS_OF)
    source: questions.Source = strawberry.field(
        graphql_type=AnalyticsSource,
        description="How the result was computed.",
        metadata=EXPLAINED,
    )
