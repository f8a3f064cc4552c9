"""Live comments: what happens to a product's list from now on, or from an event on."""

from collections.abc import AsyncIterator
from enum import Enum

import strawberry
from strawberry.relay.utils import to_base64

from dal.live import changes
from dal.live.changes import CommentEvent, event_position_of
from dal.model import rules
from dal.model.key_parts import unescape
from dal.repositories.comments import Selection
from resolvers.request.selection import Info


@strawberry.enum(description="Kinds of changes of a list of comments.")
class CommentEventKind(Enum):
    """Shows dal.live.changes.CommentEventKind."""

    READY = strawberry.enum_value(
        changes.CommentEventKind.READY.value,
        description="The subscription is active. Every change that a page read from now on does "
        "not show arrives as an event.",
    )
    ADDED = strawberry.enum_value(
        changes.CommentEventKind.ADDED.value,
        description="A comment entered the list: it is new, or an edit made it match the filters. "
        "Its cursor gives its place, which is not always the top.",
    )
    CHANGED = strawberry.enum_value(
        changes.CommentEventKind.CHANGED.value,
        description="A comment in the list was edited. Its place is unchanged.",
    )
    DELETED = strawberry.enum_value(
        changes.CommentEventKind.DELETED.value,
        description="A comment left the list: it was deleted, or an edit made it fail the filters.",
    )
    RELOAD = strawberry.enum_value(
        changes.CommentEventKind.RELOAD.value,
        description="Events before this one may be missing: reload the list. The subscription "
        "continues.",
    )


def comment_events(
    info: Info,
    product_id: str,
    rating: list[int] | None = None,
    language: list[str] | None = None,
    after: str | None = None,
) -> AsyncIterator[CommentEvent]:
    """Listen to the list that ``Product.comments`` shows for the same arguments."""
    selection = Selection(
        rules.identifier("productId", product_id),
        ratings=None if rating is None else rules.ratings("rating", rating),
        languages=None if language is None else rules.languages("language", language),
    )
    resumed = info.context.last_event_id or after
    position = event_position_of(resumed) if resumed else None
    return info.context.broker.log.listen(selection, position)


def kind(root: strawberry.Parent[CommentEvent]) -> CommentEventKind:
    """Return what happened."""
    return CommentEventKind(root.kind.value)


def deleted_id(root: strawberry.Parent[CommentEvent]) -> strawberry.ID | None:
    """Return the global id of the comment that is in the list no longer."""
    if root.kind is not changes.CommentEventKind.DELETED or root.change is None:
        return None
    return strawberry.ID(to_base64("Comment", unescape(root.change.comment_id)))
