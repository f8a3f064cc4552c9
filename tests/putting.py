"""Stores comments for tests, in few transactions."""

from collections.abc import Iterable

from dal.dynamodb.concurrency import batched, in_parallel
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.entities import idempotency
from dal.entities.comment import COMMENT, comment_key
from dal.entities.submission import stored
from dal.model import Comment
from dal.repositories.comments import CommentRepository
from dal.writes.changes import CommentChange
from dal.writes.comments import CommentWriter

AT_ONCE = 200
"""Number of comments that are written together."""


async def put_comments(
    comments: CommentRepository | CommentWriter, rows: Iterable[Comment]
) -> None:
    """Write comments over the stored comments with the same ids, unless they are equal.

    Raises ConflictError if another client changes one of the comments meanwhile.
    """
    writer = comments.writer if isinstance(comments, CommentRepository) else comments
    for some in batched(list({row.comment_id: row for row in rows}.values()), AT_ONCE):
        keys = [comment_key(row.comment_id) for row in some]
        held = {item["PK"]["S"]: item for item in await writer._table.get_many(keys)}
        before = [held.get(key["PK"]["S"]) for key in keys]
        changes = [
            CommentChange(old, COMMENT.encode(row) | idempotency.kept_mark(old))
            for row, old in zip(some, before, strict=True)
            if stored(old) != row
        ]
        for rule in writer.rules.prepare:
            await rule.prepare(changes)
        try:
            await in_parallel([writer.transactions.write(change) for change in changes])
        except ConditionFailedError as error:
            raise ConflictError("Another client has changed a comment.") from error
