"""The GraphQL types of comment counts."""

from __future__ import annotations

import strawberry

from dal.counts.counts import CommentFacets as Counted
from resolvers import statistics


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
        resolver=statistics.facets,
        graphql_type=CommentFacets | None,
        description="Counts to show next to the filters of `Product.comments`. Pass the same "
        "`rating` and `language` as to that list. The server computes the counts without another "
        "read.",
    )
