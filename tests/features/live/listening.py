"""A listener's waiting events, and the list of comments that results from events."""

from datetime import UTC, datetime, timedelta

from dal.model import Comment
from features.live.changes import CommentEvent, CommentEventKind
from features.live.log import Listener

START = datetime(2024, 1, 1, tzinfo=UTC)


def comment(number: int, rating: int = 5, language: str = "en", edits: int = 0) -> Comment:
    """Return a comment on product 42 that was edited ``edits`` times."""
    created = START + timedelta(seconds=number)
    edited = created + timedelta(days=edits) if edits else None
    return Comment(
        f"c{number}", "42", "ann", rating, language, "", f"edit {edits}", created, edited, False
    )


async def waiting(listener: Listener) -> list[CommentEvent]:
    """Return the events in the listener's queue, up to an event that waits for its text."""
    events: list[CommentEvent] = []
    while listener._waiting and not next(iter(listener._waiting.values())).lacks_text:
        events.append(await anext(listener))
    return events


def applied(shown: dict[str, Comment], events: list[CommentEvent]) -> None:
    """Apply events to a list. Fail if an event is missing."""
    for event in events:
        assert event.change is not None
        key = event.change.position
        if event.kind is CommentEventKind.DELETED:
            shown.pop(key, None)
        else:
            assert key in shown or event.kind is CommentEventKind.ADDED
            assert event.change.now is not None
            shown[key] = event.change.now
