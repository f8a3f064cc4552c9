"""Comments that wait for a moderator, and rejected comments, without the feature of moderation."""

from datetime import UTC, datetime

from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.entities.comment import comment_key
from dal.entities.submission import encode, submission_in
from dal.model import Comment
from dal.model.submissions import ReviewCause, Submission, pending, rejected
from dal.stores import Stores
from dal.table.items import Item
from dal.writes.changes import CommentChange
from dal.writes.comments import Edit, Hold, Stored, version
from tests.fakes import anybody


def held_for(cause: ReviewCause | None = ReviewCause.SETTING) -> Hold:
    """Return the ``hold`` of an addition that waits for ``cause``; None publishes it."""
    return lambda new: new if cause is None else pending(new, cause, new.created_at)


def edit_for(cause: ReviewCause | None) -> Edit:
    """Return an edit after which the comment waits for ``cause``; None publishes it."""

    def edit(_: Stored, new: Stored) -> Stored:
        one = new if isinstance(new, Comment) else new.published()
        return one if cause is None else pending(one, cause, version(new))

    return edit


async def reject(stores: Stores, comment_id: str) -> None:
    """Unpublish a comment as a rejected submission."""

    def step(item: Item, one: Stored) -> CommentChange:
        image = encode(rejected(one, "No.", datetime.now(UTC)))
        return CommentChange(item, image | idempotency.kept_mark(item))

    await stores.writer.rewrite(comment_id, step)


async def publish(stores: Stores, comment_id: str) -> None:
    """Publish a submission."""
    await stores.comments.update(comment_id, {}, anybody, edit_for(None))


async def submission_of(table: Table, comment_id: str) -> Submission | None:
    """Return the submission with an id; None if it is missing or published."""
    return submission_in(await table.get(comment_key(comment_id)))
