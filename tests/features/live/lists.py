"""What live comments add to the lists of the core's tests."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from dal.model import Comment
from dal.repositories.comments import Selection
from features.live.changes import (
    CommentEventKind,
    EventPosition,
    change_of,
    decode,
    encode,
    event_for,
    event_position_of,
)
from features.live.log import Log
from resolvers.change_log import ChangeLog
from tests.scans import Scanner

PARENTS = {"Subscription": "$FIELD"}
"""Types with fields that return comments, and the start of an operation that selects each type."""

NO_TEXT = {"deletedId", "edgeCursor", "eventCursor"}
"""Scalar fields of lists and events that never contain a comment's text."""

FILTERED_LISTS = ("Subscription.commentEvents",)
"""Lists with all filters of comments."""

SETTINGS = {"redis_url": ("redis://:secret@127.0.0.1/0", "redis://:secret@127.0.0.1/0")}
"""Settings with the text of the environment variable and the value."""

SCANNERS = {"an event's cursor": Scanner(event_position_of, "a = - _ IQ")}
"""The functions that scan a text of a client."""


@asynccontextmanager
async def services(_: Path) -> AsyncIterator[Mapping[type, object]]:
    """Yield the services that the fields use."""
    log = Log()
    yield {Log: log, ChangeLog: log}


def check_recommended(plain: Comment, recommended: Comment, wanted: Selection) -> None:
    """Check that live lists filter by the field that CONTRIBUTING's recipe adds."""
    for change, kind in (
        (change_of(plain, plain._replace(recommended=True)), CommentEventKind.ADDED),  # type: ignore[call-arg]
        (change_of(recommended, None), CommentEventKind.DELETED),
        (change_of(plain, plain._replace(title="New")), None),
    ):
        # A line of another process has the same values.
        event = event_for(wanted, EventPosition(1, 1), decode(*encode(change)))
        assert (event and event.kind) is kind
