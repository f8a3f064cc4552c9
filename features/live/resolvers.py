"""Resolvers of live comments: the events of a list, and the event cursor of its page."""

from collections.abc import AsyncIterator
from typing import Annotated

import strawberry

from dal.model import Comment, rules
from dal.model.own_ids import global_id
from dal.query.pagination import Page
from dal.repositories.comments import Selection
from features.live.changes import (
    CommentEvent,
    CommentEventKind,
    EventPosition,
    event_position_of,
)
from features.live.log import Log
from resolvers.context import Context
from resolvers.node_ids import plain_id
from resolvers.selection import Info, Languages, ProductId, Ratings


class LastEvent:
    """The cursor of the last event that the client received.

    A browser sends this cursor when it reopens an event stream:
    https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header
    """

    def __init__(self, _: Context, cursor: str | None = None) -> None:
        self.cursor = cursor


def event_cursor(root: strawberry.Parent[Page[Comment]]) -> str | None:
    """Return the cursor of a page, after which a subscription receives all later changes."""
    return root.since.cursor if isinstance(root.since, EventPosition) else None


def comment_events(
    info: Info,
    product_id: ProductId,
    rating: Ratings = None,
    language: Languages = None,
    verified_only: Annotated[  # noqa: FBT002 - an argument of the GraphQL field
        bool | None,
        strawberry.argument(
            description="Whether to send events only of comments with `verifiedPurchase`. "
            "Default false."
        ),
    ] = False,
    has_photos: Annotated[  # noqa: FBT002 - an argument of the GraphQL field
        bool | None,
        strawberry.argument(
            description="Whether to send events only of comments with photos. Default false."
        ),
    ] = False,
    after: Annotated[
        str | None,
        strawberry.argument(
            description="Event cursor: `eventCursor` of a page, or `cursor` of the last event. "
            "The server sends all changes after this cursor. If the server no longer has all these "
            "changes, it sends one RELOAD event first. If `after` is omitted, the server sends "
            "READY and then new changes. The cursor of a row is not an event cursor."
        ),
    ] = None,
) -> AsyncIterator[CommentEvent]:
    """Return the events of the list ``Product.comments`` with the same arguments."""
    selection = Selection(
        plain_id("productId", product_id),
        ratings=None if rating is None else rules.ratings("rating", rating),
        languages=None if language is None else rules.languages("language", language),
        verified_only=bool(verified_only),
        has_photos=bool(has_photos),
    )
    resumed = info.context.part(LastEvent).cursor or after
    position = event_position_of(resumed) if resumed else None
    return info.context.service(Log).listen(selection, position)


def deleted_id(root: strawberry.Parent[CommentEvent]) -> strawberry.ID | None:
    """Return the global id of the comment that left the list; None for other events."""
    if root.kind is not CommentEventKind.DELETED or root.change is None:
        return None
    return strawberry.ID(global_id("Comment", root.change.comment_id))
