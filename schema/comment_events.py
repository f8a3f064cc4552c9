"""Live comments: the events of one product's list."""

from __future__ import annotations

from collections.abc import AsyncIterator

import strawberry

from dal import model
from dal.query import pagination
from live import events
from resolvers import comment_events
from schema.comments import Comment
from schema.connections import Edge


@strawberry.type(description="What happened to a product's list of comments.")
class CommentEvent:
    """Shows live.events.CommentEvent."""

    kind: comment_events.CommentEventKind = strawberry.field(
        resolver=comment_events.kind, description="What happened; it says which fields are there."
    )
    cursor: str = strawberry.field(
        description="Pass it as `after` to go on behind this event. It is no cursor of the list."
    )
    comment_edge: pagination.Edge[model.Comment] | None = strawberry.field(
        graphql_type=Edge[Comment] | None,
        description="The comment as it is now with its place in the list, when ADDED or CHANGED.",
    )
    deleted_id: strawberry.ID | None = strawberry.field(
        resolver=comment_events.deleted_id,
        description="The id of the comment that is in the list no longer, when DELETED.",
    )
    edge_cursor: str | None = strawberry.field(
        description="The cursor of the comment's edge in the list, also when DELETED."
    )


@strawberry.type(description="What can be listened to.")
class Subscription:
    """The root of all subscriptions."""

    comment_events: AsyncIterator[events.CommentEvent] = strawberry.subscription(
        resolver=comment_events.comment_events,
        graphql_type=CommentEvent | None,
        description="What happens to `Product.comments` of the same arguments: from now on, or "
        "from the event `after` on. By WebSocket (graphql-transport-ws) or as server-sent events.",
    )
