"""Loads of comments that were added with an idempotency key."""

from datetime import timedelta

import pytest

from dal.dynamodb.table import Table
from dal.errors import NotFoundError
from dal.repositories.comments import CommentRepository
from dal.writes.overwrite import CHANGED, NEW, UNCHANGED
from tests import recount
from tests.dal.repositories.test_comments import ONE, store
from tests.edges import edge_of
from tests.fakes import anybody
from tests.features.loading.bulk import load_rows

__all__ = ["store"]


async def test_a_retry_after_a_file_was_loaded_is_the_same_add(store: CommentRepository) -> None:
    stored = edge_of(await store.add(ONE, "key")).node
    assert await load_rows(store, [stored]) == UNCHANGED
    loaded = stored._replace(text="from a file", created_at=stored.created_at - timedelta(days=99))
    assert await load_rows(store, [loaded]) == CHANGED
    known = edge_of(await store.add(ONE, "key")).node
    assert known.updated_at is not None  # an edited text has the time of the load
    assert known._replace(updated_at=None) == loaded
    await store.delete(stored.comment_id, anybody)
    with pytest.raises(NotFoundError, match="has been deleted"):
        await store.add(ONE, "key")


async def test_a_load_restores_a_deleted_comment(
    store: CommentRepository, each_table: Table
) -> None:
    stored = edge_of(await store.add(ONE, "key")).node
    await store.delete(stored.comment_id, anybody)
    assert await load_rows(store, [stored]) == NEW
    assert await recount.check(each_table, "42") == [stored]
    assert edge_of(await store.add(ONE, "key")).node == stored
