"""Object types of statistics, shown straight from the domain objects."""

from __future__ import annotations

import strawberry

from dal.statistics.facets import CommentFacets as Counted
from resolvers import products


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


@strawberry.type(description="A rating to filter by.")
class RatingFacet:
    """Shows dal.statistics.facets.RatingFacet."""

    rating: int = strawberry.field(description="From 1 to 5.")
    count: int = strawberry.field(
        description="How many comments have it and pass the filter by language."
    )
    selected: bool = strawberry.field(description="Whether the filter names it.")


@strawberry.type(description="A language to filter by.")
class LanguageFacet:
    """Shows dal.statistics.facets.LanguageFacet."""

    language: str = strawberry.field(description="A BCP 47 tag.")
    count: int = strawberry.field(
        description="How many comments are in it and pass the filter by rating."
    )
    selected: bool = strawberry.field(description="Whether the filter names it.")


@strawberry.type(
    description="What a filter by ratings and languages shows, and what each value would show if "
    "it were chosen: each facet counts under the other's filter, not under its own."
)
class CommentFacets:
    """Shows dal.statistics.facets.CommentFacets."""

    total: int = strawberry.field(description="How many comments pass both filters.")
    average: float | None = strawberry.field(
        description="The mean rating of these; null without any."
    )
    ratings: list[RatingFacet] = strawberry.field(description="All five ratings, 5 first.")
    languages: list[LanguageFacet] = strawberry.field(
        description="The languages that have comments, the most frequent of all first whatever is "
        "chosen; then chosen ones that have none."
    )


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
    facets: Counted | None = strawberry.field(
        resolver=products.facets,
        graphql_type=CommentFacets | None,
        description="The counts beside a list's filters, of the same arguments as "
        "`Product.comments`. They come from these statistics, so nothing more is read.",
    )
