"""Object types of statistics, shown straight from the domain objects."""

from __future__ import annotations

import strawberry


@strawberry.type(description="How many comments have one rating.")
class RatingCount:
    """Shows dal.statistics.counts.RatingCount."""

    rating: int = strawberry.field(description="From 1 to 5.")
    count: int = strawberry.field(description="How many comments have it; may be 0.")


@strawberry.type(description="How many comments are in one language.")
class LanguageCount:
    """Shows dal.statistics.counts.LanguageCount."""

    language: str = strawberry.field(description="A BCP 47 tag.")
    count: int = strawberry.field(description="How many comments are in it; at least 1.")


@strawberry.type(
    description="How many comments a product has, by rating and by language; exact, or as of a "
    "moment ago where the server keeps counts from the table's stream."
)
class CommentStatistics:
    """Shows dal.statistics.counts.CommentStatistics."""

    total: int = strawberry.field(description="Of all ratings.")
    average: float | None = strawberry.field(description="The mean rating; null without comments.")
    histogram: list[RatingCount] = strawberry.field(description="All five ratings, 5 first.")
    languages: list[LanguageCount] = strawberry.field(
        description="The languages that have comments, the most frequent first."
    )
