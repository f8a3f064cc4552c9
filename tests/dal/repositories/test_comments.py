"""Writes and reads of comments, on both engines."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dal.counts.mode import Maintenance, MaintenanceStore
from dal.dynamodb.errors import AlreadyExistsError
from dal.dynamodb.table import Table
from dal.entities.comment import comment_key, comment_position
from dal.errors import IdempotencyKeyReusedError, NotFoundError
from dal.model import Comment
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.stores import Stores
from tests import oracle, recount
from tests.calls import calls_of
from tests.edges import edge_of
from tests.fakes import anybody
from tests.putting import put_comments
from tests.verifying import verify

ONE = oracle.make_comments("42", 1, seed=1)[0]


@pytest.fixture
def store(each_table: Table) -> CommentRepository:
    return Stores(each_table).comments


async def all_of(store: CommentRepository) -> list[Comment]:
    return (await store.page(Selection("42"), Slice(100))).nodes


async def test_an_added_comment_is_found_by_id_and_on_its_page(store: CommentRepository) -> None:
    edge = edge_of(await store.add(ONE))
    assert edge.node == ONE
    assert edge.position == comment_position(ONE)
    assert await store.get(ONE.comment_id) == ONE
    assert await all_of(store) == [ONE]


async def test_an_id_cannot_be_added_twice(store: CommentRepository) -> None:
    await store.add(ONE)
    with pytest.raises(AlreadyExistsError):
        await store.add(ONE._replace(text="Another"))
    assert await all_of(store) == [ONE]


async def test_concurrent_adds_with_one_key_add_one_comment(store: CommentRepository) -> None:
    tries = [ONE._replace(comment_id=f"try-{number}") for number in range(12)]
    edges = list(map(edge_of, await asyncio.gather(*(store.add(one, "key") for one in tries))))
    assert len({edge.node.comment_id for edge in edges}) == 1
    assert await all_of(store) == [edges[0].node]


async def test_another_client_of_the_table_finds_the_comment_of_a_key(
    store: CommentRepository, each_table: Table
) -> None:
    first = edge_of(await store.add(ONE, "key"))
    again = await Stores(each_table).comments.add(ONE._replace(comment_id="later"), "key")
    assert again == first


async def test_a_key_for_another_comment_is_refused(store: CommentRepository) -> None:
    await store.add(ONE, "key")
    with pytest.raises(IdempotencyKeyReusedError):
        await store.add(ONE._replace(comment_id="b", rating=ONE.rating % 5 + 1), "key")


async def test_an_add_with_a_key_writes_one_item_and_its_counters(table: Table) -> None:
    calls = calls_of(table)
    await Stores(table).comments.add(ONE, "key")
    (write,) = [call for call in calls if call.operation == "TransactWriteItems"]
    kinds = [kind for action in write.arguments["TransactItems"] for kind in action]
    assert kinds.count("Put") == 1


async def test_a_key_belongs_to_its_author(store: CommentRepository) -> None:
    edges = [edge_of(await store.add(ONE._replace(username=one), "key")) for one in ("ann", "bob")]
    assert len({edge.node.comment_id for edge in edges}) == 2
    assert len(await all_of(store)) == 2


async def test_a_retry_after_an_edit_is_the_same_add(store: CommentRepository) -> None:
    first = edge_of(await store.add(ONE, "key"))
    comment_id = first.node.comment_id
    edited = edge_of(await store.update(comment_id, {"text": "edited", "rating": 3}, anybody))
    assert await store.add(ONE, "key") == edited
    with pytest.raises(IdempotencyKeyReusedError):
        await store.add(ONE._replace(text="edited", rating=3), "key")


async def test_a_retry_does_not_restore_a_deleted_comment(
    store: CommentRepository, each_table: Table
) -> None:
    comment_id = edge_of(await store.add(ONE, "key")).node.comment_id
    await store.delete(comment_id, anybody)
    for asked in (store, Stores(each_table).comments):
        with pytest.raises(NotFoundError, match="has been deleted"):
            await asked.add(ONE, "key")
    with pytest.raises(IdempotencyKeyReusedError):
        await store.add(ONE._replace(text="other"), "key")
    assert await store.get(comment_id) is None
    assert await store.get_many([comment_id]) == {}
    for gone in (
        store.update(comment_id, {"text": "x"}, anybody),
        store.delete(comment_id, anybody),
    ):
        with pytest.raises(NotFoundError, match="Comment not found"):
            await gone
    assert await recount.check(each_table, "42") == []
    assert await verify(each_table, lambda _: None) == []


async def test_a_key_can_be_used_again_after_its_tombstone_has_expired(
    store: CommentRepository, each_table: Table
) -> None:
    stored = edge_of(await store.add(ONE, "key")).node
    await store.delete(stored.comment_id, anybody)
    await each_table.write([{"Delete": {"Key": comment_key(stored.comment_id)}}])  # as DynamoDB
    other = ONE._replace(text="other")
    assert edge_of(await store.add(other, "key")).node.text == "other"


async def test_a_comment_without_a_date_gets_the_date_of_its_write(table: Table) -> None:
    """The time of the request would be wrong, because newer comments may be written while
    it waits.
    """
    store = Stores(table).comments
    async with store.writer.transactions._locks.hold(["42"], deadline=10):
        waiting = asyncio.create_task(store.add(ONE._replace(rating=5), dated=False))
        while not store.writer.transactions._waiting:  # noqa: ASYNC110 - it is of no interest to others
            await asyncio.sleep(0)
        five = ONE._replace(comment_id="other", rating=5)
        written = [edge_of(await Stores(table).comments.add(five, dated=False)).node]
    edge = edge_of(await waiting)
    assert edge.node.created_at > written[0].created_at
    assert edge.position == comment_position(edge.node)
    assert await all_of(store) == [edge.node, *written]


async def test_a_comment_gets_its_date_after_a_slow_read_of_the_mode(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = MaintenanceStore.read

    async def slow(self: MaintenanceStore) -> Maintenance:
        await asyncio.sleep(0.2)
        return await read(self)

    monkeypatch.setattr(MaintenanceStore, "read", slow)
    before = datetime.now(UTC)
    edge = edge_of(await Stores(table).comments.add(ONE, dated=False))
    assert edge.node.created_at - before > timedelta(seconds=0.2)


async def test_an_update_moves_the_comment_in_every_index(store: CommentRepository) -> None:
    data = oracle.make_comments("42", 20, seed=1)
    await put_comments(store, data)
    one = data[0]
    rating = one.rating % 5 + 1
    edge = edge_of(
        await store.update(one.comment_id, {"rating": rating, "language": "de"}, anybody)
    )
    assert edge.node.updated_at is not None
    assert edge.position == comment_position(one)
    wide = Selection("42", frozenset({rating}), frozenset({"de"}))
    rows = [row for row in await all_of(store) if (row.rating, row.language) == (rating, "de")]
    assert (await store.page(wide, Slice(100))).nodes == rows
    assert edge.node in rows
    old = Selection("42", frozenset({one.rating}), frozenset({one.language}))
    assert edge.node not in (await store.page(old, Slice(100))).nodes


async def test_concurrent_updates_of_different_fields_are_all_stored(
    store: CommentRepository,
) -> None:
    await store.add(ONE)
    changes: list[dict[str, Any]] = [{"title": "a"}, {"text": "b"}, {"username": "c"}]
    await asyncio.gather(*(store.update(ONE.comment_id, one, anybody) for one in changes))
    stored = await store.get(ONE.comment_id)
    assert stored is not None
    assert (stored.title, stored.text, stored.username) == ("a", "b", "c")


async def test_a_refused_change_changes_nothing(store: CommentRepository) -> None:
    def refuse(_: object) -> None:
        raise PermissionError

    await store.add(ONE)
    with pytest.raises(PermissionError):
        await store.update(ONE.comment_id, {"text": "x"}, refuse)
    with pytest.raises(PermissionError):
        await store.delete(ONE.comment_id, refuse)
    assert await all_of(store) == [ONE]


async def test_a_missing_comment_cannot_be_changed(store: CommentRepository) -> None:
    with pytest.raises(NotFoundError):
        await store.update("gone", {"text": "x"}, anybody)
    with pytest.raises(NotFoundError):
        await store.delete("gone", anybody)


async def test_two_concurrent_deletions_delete_once(store: CommentRepository) -> None:
    await store.add(ONE)
    results = await asyncio.gather(
        *(store.delete(ONE.comment_id, anybody) for _ in range(2)), return_exceptions=True
    )
    assert {type(result) for result in results} == {NotFoundError, Comment}


async def test_get_many_returns_the_existing_comments(store: CommentRepository) -> None:
    rows = oracle.make_comments("42", 150, seed=2)
    await put_comments(store, rows)
    wanted = [row.comment_id for row in rows]
    found = await store.get_many([*wanted[:120], "gone", wanted[0]])
    assert found == {row.comment_id: row for row in rows[:120]}
    assert await store.get_many([]) == {}


async def test_put_many_overwrites_and_stores_the_last_row_of_an_id(
    store: CommentRepository,
) -> None:
    later = ONE._replace(text="later", created_at=ONE.created_at + timedelta(days=1))
    await put_comments(store, [ONE, later])
    assert await all_of(store) == [later]
    await put_comments(store, [ONE])
    (kept,) = await all_of(store)
    assert kept._replace(updated_at=None) == ONE


@pytest.mark.parametrize("ids", [["4/2", "4#2", "4%2", "日本", " "], ["a" * 512]])
async def test_ids_may_contain_any_character(store: CommentRepository, ids: Sequence[str]) -> None:
    rows = [ONE._replace(comment_id=one, product_id=one) for one in ids]
    await put_comments(store, rows)
    for row in rows:
        assert await store.get(row.comment_id) == row
        assert (await store.page(Selection(row.product_id), Slice(5))).nodes == [row]
