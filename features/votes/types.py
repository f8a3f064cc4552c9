"""The GraphQL types of helpful votes, and of a product's comments with the most votes."""

import strawberry

from features.votes import resolvers as votes
from schema.comments import Comment
from schema.costs import mutation, public
from schema.types import USER_ERRORS, UserError


@strawberry.type(
    description="A product's positive comment and critical comment with the most helpful votes. "
    "Both are chosen from the product's 40 comments with the most votes."
)
class ProductHighlights:
    """The GraphQL type of ``features.votes.model.Highlights``."""

    most_helpful_positive: Comment | None = public(
        description="The comment rated 4 or 5 with the most votes; null if none of the 40 comments "
        "has this rating. Of comments with equal votes, the newest.",
    )
    most_helpful_critical: Comment | None = public(
        description="The comment rated 1 or 2 with the most votes; null if none of the 40 comments "
        "has this rating. Of comments with equal votes, the newest.",
    )


@strawberry.type(description="Result of `markHelpful`.")
class MarkHelpfulPayload:
    """The GraphQL type of what ``features.votes.resolvers.mark_helpful`` returns."""

    comment: Comment | None = strawberry.field(
        description="The comment; null on errors. Its `helpfulCount` includes the new vote."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `unmarkHelpful`.")
class UnmarkHelpfulPayload:
    """The GraphQL type of what ``features.votes.resolvers.unmark_helpful`` returns."""

    comment: Comment | None = strawberry.field(
        description="The comment; null on errors. Its `helpfulCount` does not include the "
        "withdrawn vote."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class VoteMutation:
    """Binds each mutation to its resolver."""

    mark_helpful: MarkHelpfulPayload | None = mutation(
        resolver=votes.mark_helpful,
        description="Mark another user's comment as helpful. The vote belongs to the signed-in "
        "user. A second vote for the same comment changes nothing. A blocked user cannot vote.",
    )
    unmark_helpful: UnmarkHelpfulPayload | None = mutation(
        resolver=votes.unmark_helpful,
        description="Withdraw the signed-in user's helpful vote for a comment. If the user has "
        "not voted, nothing changes. A blocked user cannot withdraw a vote.",
    )
