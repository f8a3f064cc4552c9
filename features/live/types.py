"""The GraphQL types of live comments."""

from collections.abc import AsyncIterator

import strawberry

from features.live import changes, resolvers
from features.live.changes import CommentEventKind
from schema.comments import Comment
from schema.types import Edge, show_enum

show_enum(
    CommentEventKind,
    "Kind of a comment event.",
    READY="First event of a subscription without `after`. Read the list after this event, because "
    "the server sends only later changes.",
    ADDED="A comment entered the list: it is new or newly published, or an edit made it match the "
    "filters. Insert the comment at the place of its `createdAt`, which is not always the top of "
    "the list.",
    CHANGED="A comment in the list changed, for example by an edit or a reply. Its position in "
    "date order does not change.",
    DELETED="A comment left the list: it was deleted or unpublished, or it does not match the "
    "filters after an edit.",
    RELOAD="Events before this one may be missing. Reload the list; the subscription continues.",
)


@strawberry.type(description="An event of a product's list of comments, such as a new comment.")
class CommentEvent:
    """The GraphQL type of ``features.live.changes.CommentEvent``."""

    kind: CommentEventKind = strawberry.field(
        description="Kind of event. The kind determines which of the other fields are set.",
    )
    cursor: str = strawberry.field(
        description="Event cursor, which is not the cursor of a row. To resume after this event, "
        "pass it as `after` to `commentEvents`."
    )
    comment_edge: Edge[Comment] | None = strawberry.field(
        description="The comment after the change, with its cursor in the list. Set for ADDED "
        "and CHANGED; otherwise null.",
    )
    deleted_id: strawberry.ID | None = strawberry.field(
        resolver=resolvers.deleted_id,
        description="Global `id` of the comment that left the list. Set for DELETED; otherwise "
        "null.",
    )
    edge_cursor: str | None = strawberry.field(
        description="Cursor of the comment in the list. For DELETED, the cursor that the comment "
        "had in the list. Set for ADDED, CHANGED and DELETED; otherwise null."
    )


@strawberry.type(description="The root of all subscriptions.")
class Subscription:
    """Binds each subscription to its resolver."""

    comment_events: "AsyncIterator[changes.CommentEvent]" = strawberry.subscription(
        resolver=resolvers.comment_events,
        graphql_type=CommentEvent | None,
        description="Changes of a product's list of comments, such as a new comment. The "
        "arguments select the same list as in `Product.comments`. Read the list first, and pass "
        "the `eventCursor` of its first page as `after` to receive all later changes. Available by "
        "WebSocket (`graphql-transport-ws`) and by server-sent events.",
    )
