"""The GraphQL types of blocked users."""

from datetime import datetime
from typing import Any

import strawberry

from features.moderation import block_resolvers as blocks
from schema.costs import PAGE, mutation
from schema.execution.facts import facts
from schema.types import USER_ERRORS, Connection, UserError


@strawberry.type(description="A blocked user. New comments of the user wait for a moderator.")
class BlockedUser:
    """The GraphQL type of ``dal.model.standings.Block``."""

    id: strawberry.ID = strawberry.field(
        resolver=blocks.block_id,
        description="Id of the blocked user, for caches. `unblockUser` returns it as "
        "`unblockedId`. It is not an id for `node`.",
    )
    username: str = strawberry.field(description="User name, which is the user's id.")
    reason: str = strawberry.field(description="The moderator's reason. Maximum 200 characters.")
    at: datetime = strawberry.field(name="blockedAt", description="Time of the block.")
    by: str | None = strawberry.field(
        name="blockedBy",
        description="User name of the moderator who blocked the user. Null if the server's "
        "operator blocked the user, or if the moderator's data was erased.",
    )


@strawberry.type(description="A page of blocked users.")
class BlockedUserConnection(Connection[BlockedUser]):
    """The GraphQL type of ``dal.query.pagination.Page`` of blocks."""


BLOCKED_USERS: Any = strawberry.field(
    resolver=blocks.blocked_users,
    graphql_type=BlockedUserConnection | None,
    description="Blocked users, latest block first. A new block may be missing for a "
    "moment. Only for moderators.",
    metadata=facts(reads=PAGE),
)
"""The field ``Query.blockedUsers``."""


@strawberry.type(description="Result of `blockUser`.")
class BlockUserPayload:
    """The GraphQL type of what ``features.moderation.block_resolvers.block_user`` returns."""

    blocked_user: BlockedUser | None = strawberry.field(
        description="The blocked user; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `unblockUser`.")
class UnblockUserPayload:
    """The GraphQL type of what ``features.moderation.block_resolvers.unblock_user`` returns."""

    username: str | None = strawberry.field(
        description="User name of the unblocked user; null on errors."
    )
    unblocked_id: strawberry.ID | None = strawberry.field(
        description="`id` of the `BlockedUser`. Remove the user from cached lists of blocked "
        "users. Null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class BlockMutation:
    """Binds each mutation to its resolver."""

    block_user: BlockUserPayload | None = mutation(
        resolver=blocks.block_user,
        description="Block a user. The user's new comments and edits of titles, texts and photos "
        "then wait for a moderator. The user cannot vote. Published comments stay published. If "
        "the user is already blocked, a new reason replaces the old one. Only for moderators.",
    )
    unblock_user: UnblockUserPayload | None = mutation(
        resolver=blocks.unblock_user,
        description="End the block of a user. Comments that already wait for a moderator stay "
        "in the queue. Only for moderators.",
    )
