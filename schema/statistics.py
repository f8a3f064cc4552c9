"""The GraphQL types of comment counts."""

import strawberry

from dal.counts.counts import MAX_LANGUAGES
from dal.counts.counts import CommentFacets as Counted
from dal.model.comment_fields import MAX_ASPECTS
from dal.model.rules import MAX_VALUES
from resolvers import shop_aspects, statistics
from schema.costs import listed
from schema.execution.facts import PUBLIC, facts


@strawberry.type(description="Number of comments with one rating.")
class RatingCount:
    """The GraphQL type of ``dal.counts.counts.RatingCount``."""

    rating: int = strawberry.field(description="Rating from 1 to 5.", metadata=PUBLIC)
    count: int = strawberry.field(
        description="Number of comments with the rating; may be 0.", metadata=PUBLIC
    )


_RANGE = (
    "Language, region or script, as a BCP 47 tag to pass as `language`: `en` for all comments in "
    "English, `en-GB` for those in British English."
)
_PARENT = "Language of this region or script, such as `en` for `en-GB`. Null for a language."


@strawberry.type(description="Number of comments in one language, region or script.")
class LanguageCount:
    """The GraphQL type of ``dal.counts.counts.LanguageCount``."""

    language: str = strawberry.field(description=_RANGE, metadata=PUBLIC)
    count: int = strawberry.field(
        description="Number of comments that `language` finds; at least 1.", metadata=PUBLIC
    )
    parent: str | None = strawberry.field(description=_PARENT, metadata=PUBLIC)


@strawberry.type(description="A rating to filter by, with its number of comments.")
class RatingFacet:
    """The GraphQL type of ``dal.counts.counts.RatingCount``."""

    rating: int = strawberry.field(description="Rating from 1 to 5.", metadata=PUBLIC)
    count: int = strawberry.field(
        description="Number of comments with this rating in the selected languages.",
        metadata=PUBLIC,
    )
    selected: bool = strawberry.field(
        description="Whether the argument `rating` includes this rating.",
        metadata=PUBLIC,
    )


@strawberry.type(
    description="A language, region or script to filter by, with its number of comments."
)
class LanguageFacet:
    """The GraphQL type of ``dal.counts.counts.LanguageCount``."""

    language: str = strawberry.field(description=_RANGE, metadata=PUBLIC)
    count: int = strawberry.field(
        description="Number of comments that `language` finds, with the selected ratings.",
        metadata=PUBLIC,
    )
    parent: str | None = strawberry.field(description=_PARENT, metadata=PUBLIC)
    selected: bool = strawberry.field(
        description="Whether the argument `language` includes this tag. `en` does not include "
        "`en-GB` here, although it finds the comments.",
        metadata=PUBLIC,
    )


@strawberry.type(
    description="Numbers of comments to show next to filter controls. The count of a rating "
    "includes only the selected languages. The count of a language includes only the selected "
    "ratings. A filter that is omitted selects all its values."
)
class CommentFacets:
    """The GraphQL type of ``dal.counts.counts.CommentFacets``."""

    total: int = strawberry.field(
        description="Number of comments that match both filters.", metadata=PUBLIC
    )
    average: float | None = strawberry.field(
        description="Mean rating of the matching comments; null if no comment matches.",
        metadata=PUBLIC,
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

    name: str = strawberry.field(description="Name of the aspect.", metadata=PUBLIC)
    count: int = strawberry.field(
        description="Number of comments that rate the aspect; may be 0.", metadata=PUBLIC
    )
    average: float | None = strawberry.field(
        description="Mean rating of the aspect; null without ratings.", metadata=PUBLIC
    )


@strawberry.type(
    description="Numbers of comments on a product or a group, by rating and language. On some "
    "servers, the counts lag behind writes for a moment."
)
class CommentStatistics:
    """The GraphQL type of ``dal.counts.counts.CommentStatistics``."""

    total: int = strawberry.field(
        description="Number of comments with any rating.", metadata=PUBLIC
    )
    average: float | None = strawberry.field(
        description="Mean rating; null without comments.", metadata=PUBLIC
    )
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
    facets: Counted | None = strawberry.field(
        resolver=statistics.facets,
        graphql_type=CommentFacets | None,
        description="Counts to show next to the filters of `Product.comments`. Pass the same "
        "`rating` and `language` as to that list. The server computes the counts without another "
        "read.",
        metadata=PUBLIC,
    )
