"""A rule of a process receives each write once, and each write whose outcome is unknown."""

import asyncio
from collections.abc import Sequence

import pytest

from dal.dynamodb.errors import StoreUnavailableError
from dal.dynamodb.table import Table
from dal.errors import NotFoundError
from dal.model import Comment
from dal.stores import Stores
from dal.writes.changes import CommentChange, WriteRule
from tests import oracle
from tests.edges import edge_of
from tests.fakes import FaultyClient, anybody, lose_answer

ONE = oracle.make_comments("42", 1, seed=1)[0]


class Recorder(WriteRule):
    """A rule that keeps the changes of published comments."""

    def __init__(self) -> None:
        self.told: list[tuple[Comment | None, Comment | None] | str] = []
        """The comment before and after a write, or the product of a write with an unknown
        outcome."""

    def committed(self, change: CommentChange) -> None:
        if change.before or change.after:
            self.told.append((change.before, change.after))

    def uncertain(self, changes: Sequence[CommentChange]) -> None:
        comments = [one for each in changes for one in (each.before, each.after) if one]
        self.told += {comment.product_id for comment in comments}

    @property
    def changes(self) -> list[tuple[Comment | None, Comment | None]]:
        return [one for one in self.told if isinstance(one, tuple)]


async def test_each_acknowledged_write_is_observed_once(table: Table) -> None:
    recorder = Recorder()
    store = Stores(table, [recorder]).comments
    added = edge_of(await store.add(ONE, "key", dated=False)).node
    await store.add(ONE, "key", dated=False)
    edited = edge_of(await store.update(added.comment_id, {"rating": 1}, anybody)).node
    await store.delete(added.comment_id, anybody)
    with pytest.raises(NotFoundError):
        await store.delete(added.comment_id, anybody)
    assert recorder.told == [(None, added), (added, edited), (edited, None)]


async def test_concurrent_edits_are_observed_as_a_chain(table: Table) -> None:
    recorder = Recorder()
    store = Stores(table, [recorder]).comments
    await store.add(ONE)
    edits = [store.update(ONE.comment_id, {"rating": one}, anybody) for one in (1, 2, 3, 4, 5)]
    await asyncio.gather(*edits)
    state: Comment | None = None
    for told in recorder.told:
        assert isinstance(told, tuple)
        assert told[0] == state
        state = told[1]
    assert state == await store.get(ONE.comment_id)


async def test_a_write_without_a_response_is_observed_as_uncertain(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dal.dynamodb.retries.DEADLINE", 0.2)
    recorder = Recorder()
    client = FaultyClient(table.service, *[lose_answer] * 1000)
    store = Stores(Table(client, table.name), [recorder]).comments
    with pytest.raises(StoreUnavailableError):
        await store.add(ONE)
    assert recorder.told == ["42"]
