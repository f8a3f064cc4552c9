"""Object types of statistics, shown straight from the domain objects."""

from __future__ import annotations

import strawberry

from dal.statistics.counts import CommentFacets as Counted
from resolvers import products


@strawberry.type(description="Number of comments with one rating.")
class RatingCount:
    """Shows dal.statistics.counts.RatingCount."""

    rating: int = strawberry.field(description="Rating from 1 to 5.")
    count: int = strawberry.field(description="Number of comments with the rating; may be 0.")


@strawberry.type(description="Number of comments in one language.")
class LanguageCount:
    """Shows dal.statistics.counts.LanguageCount."""

    language: str = strawberry.field(description="Language, as a BCP 47 tag.")
    count: int = strawberry.field(description="Number of comments in the language; at least 1.")


@strawberry.type(description="A value of the rating filter and its count.")
class RatingFacet:
    """Shows dal.statistics.counts.RatingFacet."""

    rating: int = strawberry.field(description="Rating from 1 to 5.")
    count: int = strawberry.field(
        description="Number of comments with the rating that match the language filter."
    )
    selected: bool = strawberry.field(description="Whether the filter includes the value.")


@strawberry.type(description="A value of the language filter and its count.")
class LanguageFacet:
    """Shows dal.statistics.counts.LanguageFacet."""

    language: str = strawberry.field(description="Language, as a BCP 47 tag.")
    count: int = strawberry.field(
        description="Number of comments in the language that match the rating filter."
    )
    selected: bool = strawberry.field(description="Whether the filter includes the value.")


@strawberry.type(
    description="Counts for filter controls. Each facet counts its values under the other filter, "
    "not under its own."
)
class CommentFacets:
    """Shows dal.statistics.counts.CommentFacets."""

    total: int = strawberry.field(description="Number of comments that match both filters.")
    average: float | None = strawberry.field(
        description="Mean rating of the matching comments; null without any."
    )
    ratings: list[RatingFacet] = strawberry.field(description="All five ratings, 5 first.")
    languages: list[LanguageFacet] = strawberry.field(
        description="Languages with comments, most frequent first regardless of the filters, then "
        "selected languages without comments."
    )


@strawberry.type(
    description="Number of comments on a product, by rating and language. Exact; a moment old if "
    "the server counts from the table's stream."
)
class CommentStatistics:
    """Shows dal.statistics.counts.CommentStatistics."""

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
