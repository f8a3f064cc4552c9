"""Object types of statistics, shown straight from the domain objects."""

from __future__ import annotations

import strawberry


@strawberry.type
class RatingCount:
    """Shows dal.statistics.counts.RatingCount."""

    rating: int
    count: int


@strawberry.type
class LanguageCount:
    """Shows dal.statistics.counts.LanguageCount."""

    language: str
    count: int


@strawberry.type(description="How many comments a product has, by rating and by language; exact.")
class CommentStatistics:
    """Shows dal.statistics.counts.CommentStatistics."""

    total: int
    average: float | None = strawberry.field(description="The mean rating; null without comments.")
    histogram: list[RatingCount] = strawberry.field(description="All five ratings, 5 first.")
    languages: list[LanguageCount] = strawberry.field(
        description="The languages that have comments, the most frequent first."
    )
