"""Live comments: the events of one product's list."""

from __future__ import annotations

from collections.abc import AsyncIterator

import strawberry

from dal import model
from dal.live import changes
from dal.query import pagination
from resolvers import comment_events
from schema.comments import Comment
from schema.connections import Edge


@strawberry.type(description="A change of a product's list of comments.")
class CommentEvent:
    """Shows dal.live.changes.CommentEvent."""

    kind: comment_events.CommentEventKind = strawberry.field(
        resolver=comment_events.kind,
        description="Kind of event. It determines which of the other fields are set.",
    )
    cursor: str = strawberry.field(
        description="Event cursor: pass it as `after` to resume after this event. Not a cursor of "
        "the list."
    )
    comment_edge: pagination.Edge[model.Comment] | None = strawberry.field(
        graphql_type=Edge[Comment] | None,
        description="The current comment and its cursor in the list. Set for ADDED and CHANGED.",
    )
    deleted_id: strawberry.ID | None = strawberry.field(
        resolver=comment_events.deleted_id,
        description="Global id of the comment that left the list. Set for DELETED.",
    )
    edge_cursor: str | None = strawberry.field(
        description="Cursor of the comment in the list. Set for ADDED, CHANGED and DELETED."
    )


@strawberry.type(description="The root of all subscriptions.")
class Subscription:
    """The root of all subscriptions."""

    comment_events: AsyncIterator[changes.CommentEvent] = strawberry.subscription(
        resolver=comment_events.comment_events,
        graphql_type=CommentEvent | None,
        description="Changes of the list `Product.comments` with the same arguments, from now on "
        "or after the event `after`. Served by WebSocket (graphql-transport-ws) and server-sent "
        "events.",
    )
