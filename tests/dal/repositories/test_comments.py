"""The store's writes and look-ups, on both engines."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from dal import errors
from dal.entities.comment import comment_position
from dal.model import Comment
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.table.client import Table
from tests import oracle

ONE = oracle.make_comments("42", 1, seed=1)[0]


def anybody(_: Comment) -> None:
    """Refuse nobody."""


@pytest.fixture
def store(each_table: Table) -> CommentRepository:
    return CommentRepository(each_table)


async def all_of(store: CommentRepository) -> list[Comment]:
    return (await store.page(Selection("42"), Slice(100))).nodes


async def test_an_added_comment_is_found_by_id_and_on_its_page(store: CommentRepository) -> None:
    edge = await store.add(ONE)
    assert edge.node == ONE
    assert edge.position == comment_position(ONE)
    assert await store.get(ONE.comment_id) == ONE
    assert await all_of(store) == [ONE]


async def test_an_id_is_taken_once(store: CommentRepository) -> None:
    await store.add(ONE)
    with pytest.raises(errors.AlreadyExistsError):
        await store.add(ONE._replace(text="Another"))
    assert await all_of(store) == [ONE]


async def test_adding_again_what_is_stored_already_is_the_same_add(
    store: CommentRepository,
) -> None:
    """So it is when the first answer was lost and the engine forgot the request token."""
    await store.add(ONE)
    assert (await store.add(ONE)).node == ONE


async def test_one_key_one_comment_however_many_try_at_once(store: CommentRepository) -> None:
    tries = [ONE._replace(comment_id=f"try-{number}") for number in range(12)]
    edges = await asyncio.gather(*(store.add(one, "key") for one in tries))
    assert len({edge.node.comment_id for edge in edges}) == 1
    assert await all_of(store) == [edges[0].node]


async def test_a_key_is_remembered_by_another_client(
    store: CommentRepository, each_table: Table
) -> None:
    first = await store.add(ONE, "key")
    again = await CommentRepository(each_table).add(ONE._replace(comment_id="later"), "key")
    assert again == first


async def test_a_key_for_another_comment_is_refused(store: CommentRepository) -> None:
    await store.add(ONE, "key")
    with pytest.raises(errors.IdempotencyKeyReusedError):
        await store.add(ONE._replace(comment_id="b", rating=ONE.rating % 5 + 1), "key")


async def test_an_update_moves_the_comment_in_every_index(store: CommentRepository) -> None:
    data = oracle.make_comments("42", 20, seed=1)
    await store.put_many(data)
    one = data[0]
    rating = one.rating % 5 + 1
    edge = await store.update(one.comment_id, {"rating": rating, "language": "de"}, anybody)
    assert edge.node.updated_at is not None
    assert edge.position == comment_position(one)
    wide = Selection("42", frozenset({rating}), frozenset({"de"}))
    rows = [row for row in await all_of(store) if (row.rating, row.language) == (rating, "de")]
    assert (await store.page(wide, Slice(100))).nodes == rows
    assert edge.node in rows
    old = Selection("42", frozenset({one.rating}), frozenset({one.language}))
    assert edge.node not in (await store.page(old, Slice(100))).nodes


async def test_concurrent_updates_of_different_fields_all_last(store: CommentRepository) -> None:
    await store.add(ONE)
    changes: list[dict[str, Any]] = [{"title": "a"}, {"text": "b"}, {"username": "c"}]
    await asyncio.gather(*(store.update(ONE.comment_id, one, anybody) for one in changes))
    stored = await store.get(ONE.comment_id)
    assert stored is not None
    assert (stored.title, stored.text, stored.username) == ("a", "b", "c")


async def test_a_check_that_refuses_leaves_everything(store: CommentRepository) -> None:
    def refuse(_: Comment) -> None:
        raise PermissionError

    await store.add(ONE)
    with pytest.raises(PermissionError):
        await store.update(ONE.comment_id, {"text": "x"}, refuse)
    with pytest.raises(PermissionError):
        await store.delete(ONE.comment_id, refuse)
    assert await all_of(store) == [ONE]


async def test_what_is_not_there_cannot_be_changed(store: CommentRepository) -> None:
    with pytest.raises(errors.NotFoundError):
        await store.update("gone", {"text": "x"}, anybody)
    with pytest.raises(errors.NotFoundError):
        await store.delete("gone", anybody)


async def test_two_who_delete_at_once_delete_once(store: CommentRepository) -> None:
    await store.add(ONE)
    results = await asyncio.gather(
        *(store.delete(ONE.comment_id, anybody) for _ in range(2)), return_exceptions=True
    )
    assert {type(result) for result in results} == {errors.NotFoundError, Comment}


async def test_get_many_finds_what_exists(store: CommentRepository) -> None:
    rows = oracle.make_comments("42", 150, seed=2)
    await store.put_many(rows)
    wanted = [row.comment_id for row in rows]
    found = await store.get_many([*wanted[:120], "gone", wanted[0]])
    assert found == {row.comment_id: row for row in rows[:120]}
    assert await store.get_many([]) == {}


async def test_put_many_writes_over_and_the_last_of_an_id_counts(store: CommentRepository) -> None:
    later = ONE._replace(text="later", created_at=ONE.created_at + timedelta(days=1))
    await store.put_many([ONE, later])
    assert await all_of(store) == [later]
    await store.put_many([ONE])
    assert await all_of(store) == [ONE]


@pytest.mark.parametrize("ids", [["4/2", "4#2", "4%2", "日本", " "], ["a" * 512]])
async def test_ids_of_any_characters(store: CommentRepository, ids: Sequence[str]) -> None:
    rows = [ONE._replace(comment_id=one, product_id=one) for one in ids]
    await store.put_many(rows)
    for row in rows:
        assert await store.get(row.comment_id) == row
        assert (await store.page(Selection(row.product_id), Slice(5))).nodes == [row]
