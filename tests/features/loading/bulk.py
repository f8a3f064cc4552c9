"""Loads comments as ``marginalia load`` does."""

from collections.abc import Iterable

from dal.repositories.comments import CommentRepository
from dal.writes.overwrite import Outcome
from features.loading.bulk_write import BulkWriter
from features.loading.loaded import CommentRow


def bulk_writer(comments: CommentRepository) -> BulkWriter:
    return BulkWriter(comments._table, comments._maintenance, comments.writer)


async def load_rows(comments: CommentRepository, rows: Iterable[CommentRow]) -> Outcome:
    """Write rows over the stored comments with the same ids."""
    return await bulk_writer(comments).put(rows)
