"""What a listener is told, and which changes its filter lets it see.

A filtered list is a list of its own: a comment that an edit moves into it is ADDED, one that an
edit moves out of it is DELETED, though the comment is still there.
"""

from dataclasses import dataclass
from enum import Enum

from dal.live.changes import Change, Doubt, News
from dal.live.positions import EventPosition
from dal.model import Comment
from dal.query.cursors import encode
from dal.query.pagination import Edge
from dal.repositories.comments import Selection


class CommentEventKind(Enum):
    """What happened to the list that is listened to."""

    READY = "READY"
    ADDED = "ADDED"
    CHANGED = "CHANGED"
    DELETED = "DELETED"
    RELOAD = "RELOAD"


@dataclass(frozen=True, slots=True)
class CommentEvent:
    """One event of a list; READY and RELOAD are about no comment."""

    kind: CommentEventKind
    position: EventPosition
    change: Change | None = None

    @property
    def cursor(self) -> str:
        """What resumes after this event."""
        return self.position.cursor

    @property
    def comment_edge(self) -> Edge[Comment] | None:
        """The comment with its place in the list, where it is in it now."""
        if self.kind is CommentEventKind.DELETED or self.change is None or self.change.now is None:
            return None
        return Edge(self.change.now, self.change.position)

    @property
    def edge_cursor(self) -> str | None:
        """Where the comment stands, or stood, in the list."""
        return None if self.change is None else encode(self.change.position)

    @property
    def size(self) -> int:
        """What it takes in memory, in bytes, about."""
        return 0 if self.change is None else self.change.size


def event_for(selection: Selection, position: EventPosition, news: News) -> CommentEvent | None:
    """Return what listeners to a selection are told of a change; None where it is not theirs."""
    if isinstance(news, Doubt) or news.late:
        return CommentEvent(CommentEventKind.RELOAD, position)
    was = news.was is not None and _passes(selection, news.was.rating, news.was.language)
    now = news.now is not None and _passes(selection, news.now.rating, news.now.language)
    if not was and not now:
        return None
    return CommentEvent(_KINDS[was, now], position, news)


_KINDS = {
    (False, True): CommentEventKind.ADDED,
    (True, True): CommentEventKind.CHANGED,
    (True, False): CommentEventKind.DELETED,
}


def _passes(selection: Selection, rating: int, language: str) -> bool:
    return (selection.ratings is None or rating in selection.ratings) and (
        selection.languages is None or language in selection.languages
    )
