"""The GraphQL types of comment counts."""

from typing import ClassVar

import strawberry

from dal.counts.counts import MAX_LANGUAGES
from dal.model.comment_fields import MAX_ASPECTS
from dal.model.rules import MAX_VALUES
from resolvers import shop_aspects, statistics
from schema.costs import listed, public
from schema.execution.facts import facts


@strawberry.type(description="Number of comments with one rating.")
class RatingCount:
    """The GraphQL type of ``dal.counts.counts.RatingCount``."""

    rating: int = public(description="Rating from 1 to 5.")
    count: int = public(description="Number of comments with the rating; may be 0.")


@strawberry.type(description="Number of comments in one language, region or script.")
class LanguageCount:
    """The GraphQL type of ``dal.counts.counts.LanguageCount``."""

    language: str = public(
        description="Language, region or script, as a BCP 47 tag to pass as `language`: `en` for "
        "all comments in English, `en-GB` for those in British English."
    )
    count: int = public(description="Number of comments that `language` finds; at least 1.")
    parent: str | None = public(
        description="Language of this region or script, such as `en` for `en-GB`. Null for a "
        "language."
    )


@strawberry.type(description="A rating to filter by, with its number of comments.")
class RatingFacet(RatingCount):
    """The GraphQL type of ``dal.counts.counts.RatingCount``."""

    shared: ClassVar = True
    count: int = public(
        description="Number of comments with this rating in the selected languages."
    )
    selected: bool = public(description="Whether the argument `rating` includes this rating.")


@strawberry.type(
    description="A language, region or script to filter by, with its number of comments."
)
class LanguageFacet(LanguageCount):
    """The GraphQL type of ``dal.counts.counts.LanguageCount``."""

    shared: ClassVar = True
    count: int = public(
        description="Number of comments that `language` finds, with the selected ratings."
    )
    selected: bool = public(
        description="Whether the argument `language` includes this tag. `en` does not include "
        "`en-GB` here, although it finds the comments."
    )


@strawberry.type(
    description="Numbers of comments to show next to filter controls. The count of a rating "
    "includes only the selected languages. The count of a language includes only the selected "
    "ratings. A filter that is omitted selects all its values."
)
class CommentFacets:
    """The GraphQL type of ``dal.counts.counts.CommentFacets``."""

    total: int = public(description="Number of comments that match both filters.")
    average: float | None = public(
        description="Mean rating of the matching comments; null if no comment matches."
    )
    ratings: list[RatingFacet] = strawberry.field(
        description="All five ratings, 5 first.", metadata=facts(reads=listed(5), public=True)
    )
    languages: list[LanguageFacet] = strawberry.field(
        description="The entries of `CommentStatistics.languages`, followed by other selected "
        "tags. The filters do not change the order.",
        metadata=facts(reads=listed(5, MAX_LANGUAGES + MAX_VALUES), public=True),
    )


@strawberry.type(description="Number and mean of the ratings of one aspect.")
class AspectStatistics:
    """The GraphQL type of ``resolvers.shop_aspects.AspectCount``."""

    name: str = public(description="Name of the aspect.")
    count: int = public(description="Number of comments that rate the aspect; may be 0.")
    average: float | None = public(description="Mean rating of the aspect; null without ratings.")


@strawberry.type(
    description="Numbers of comments on a product or a group, by rating and language. On some "
    "servers, the counts lag behind writes for a moment."
)
class CommentStatistics:
    """The GraphQL type of ``dal.counts.counts.CommentStatistics``."""

    total: int = public(description="Number of comments with any rating.")
    average: float | None = public(description="Mean rating; null without comments.")
    histogram: list[RatingCount] = strawberry.field(
        description="All five ratings, 5 first.", metadata=facts(reads=listed(5), public=True)
    )
    languages: list[LanguageCount] = strawberry.field(
        description="Languages that have comments, most frequent first. Regions and scripts "
        "follow their language, unless all its comments are in one of them. A language's count "
        "includes them, so add only counts without `parent`. The 100 most frequent.",
        metadata=facts(reads=listed(5, MAX_LANGUAGES), public=True),
    )
    aspects: list[shop_aspects.AspectCount] = strawberry.field(
        resolver=shop_aspects.of_statistics,
        graphql_type=list[AspectStatistics],
        description="Counts of each of the shop's aspects, in the shop's order. Maximum 6.",
        metadata=facts(reads=listed(4, MAX_ASPECTS), public=True),
    )
    facets: CommentFacets | None = public(
        resolver=statistics.facets,
        description="Counts to show next to the filters of `Product.comments`. Pass the same "
        "`rating` and `language` as to that list. The server computes the counts without another "
        "read.",
    )
