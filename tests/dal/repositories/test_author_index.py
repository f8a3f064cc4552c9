"""Comments by author: pages against the oracle, and the optional index made, remade and removed."""

import random
import uuid
from datetime import timedelta
from functools import partial

import pytest

from dal.entities.comment import BY_AUTHOR, COMMENT, comment_key, comment_position
from dal.entities.shard_layout import ShardLayout
from dal.errors import NoOptionalIndexError, StoreRefusedError
from dal.model import Comment
from dal.query.pagination import Slice
from dal.repositories.author_pages import AuthorSelection
from dal.repositories.comments import CommentRepository
from dal.repositories.upgrade import Upgraded, drop_author_index
from dal.statistics.maintenance_mode import MaintenanceStore, create_table
from dal.table import admin, index_creation
from dal.table.client import Table
from dal.table.definition import has_any, refuse_outdated
from tests import oracle
from tests.authors import upgraded
from tests.calls import calls_of
from tests.strategies import comment
from tests.writers import Engine, Killed

NAMES = ("ana", "an", "ana/1#%2F", "Ωλγα 🙂 %", "..", "ana#0")
COMMENTS = [
    one._replace(username=NAMES[number % len(NAMES)], product_id=("42", "42/en", "4#2")[number % 3])
    for number, one in enumerate(oracle.make_comments("42", 96, seed=9))
]
OLDER, NEWER = COMMENTS[:40], COMMENTS[40:]
TEN = oracle.START + timedelta(hours=10), oracle.START + timedelta(hours=61)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_creation, "LOOK_EVERY", 0)


async def listing(table: Table) -> CommentRepository:
    """A table of its own that has the index from the beginning."""
    made = Table(table._client, f"test-{uuid.uuid4().hex}")
    assert await create_table(made, author_index=True)
    return CommentRepository(made)


def of(author: str, comments: list[Comment]) -> list[Comment]:
    return oracle.newest_first(one for one in comments if one.username == author)


async def check(store: CommentRepository, comments: list[Comment], size: int = 7) -> None:
    """Walk each author's comments both ways, from either end, in pages that do not fit."""
    for number, author in enumerate(NAMES):
        backward, reverse = bool(number & 1), bool(number & 2)
        read = partial(store.authors.page, AuthorSelection(author))
        found = await oracle.walk_pages(read, size, backward=backward, reverse=reverse)
        assert found == of(author, comments)[:: -1 if reverse else 1]


@pytest.mark.parametrize("shards", [1, 4])
async def test_an_authors_pages_are_the_oracles(each_table: Table, shards: int) -> None:
    store = await listing(each_table)
    if shards > 1:  # of products' lists: an author's has none
        state = await store.maintenance.read()
        await store.maintenance.announce(state, layout=ShardLayout(shards))
    await store.put_many(COMMENTS)
    await check(store, COMMENTS)
    dated = AuthorSelection("ana", *TEN)
    found = await oracle.walk_pages(partial(store.authors.page, dated), 3, backward=False)
    assert found == [one for one in of("ana", COMMENTS) if TEN[0] <= one.created_at < TEN[1]]
    page = await store.authors.page(AuthorSelection("nobody"), Slice(5, next_page=True))
    assert (page.nodes, page.page_info.has_next_page) == ([], False)


@pytest.mark.parametrize("seed", range(6))
async def test_pages_go_on_exactly_while_others_write(table: Table, seed: int) -> None:
    """Between two pages comments come, go, and change; the cursor's own, too."""
    store, chance = await listing(table), random.Random(seed)
    rows = {one.comment_id: one for one in COMMENTS[:36]}
    await store.put_many(list(rows.values()))
    backward, reverse, end = chance.random() < 0.5, chance.random() < 0.5, None
    for step in range(6):
        cut = oracle.next_cut(3, end, backward=backward, reverse=reverse)
        page = await store.authors.page(AuthorSelection("ana"), cut)
        listed = {comment_position(one): one for one in of("ana", list(rows.values()))}
        shown, follows, precedes = oracle.page_of(list(listed), cut)
        assert page.nodes == [listed[one] for one in shown]
        info = page.page_info
        assert (info.has_next_page, info.has_previous_page) == (follows, precedes)
        if not shown:
            break
        end = shown[0 if backward else -1]
        gone = chance.choice([listed[end], *listed.values()])
        await store.delete(gone.comment_id, lambda _: None)
        del rows[gone.comment_id]
        if len(listed) > 1:
            which = chance.choice([one for one in listed.values() if one != gone])
            edited = await store.update(
                which.comment_id, {"rating": 1, "text": "?"}, lambda _: None
            )
            rows[which.comment_id] = edited.node
        tie = chance.choice(list(listed.values())).created_at
        new = comment(f"new/{step}", username="ana", created_at=tie)
        rows[new.comment_id] = (await store.add(new)).node


async def test_a_table_without_the_index_says_what_to_do_and_is_asked_nothing(table: Table) -> None:
    store = CommentRepository(table)
    await store.put_many(COMMENTS[:3])
    assert not store.authors.listed
    calls = calls_of(table)
    with pytest.raises(NoOptionalIndexError, match="`marginalia table upgrade --author-index`"):
        await store.authors.page(AuthorSelection("ana"), Slice(5))
    assert "Query" not in calls.operations


async def older_table(table: Table) -> Table:
    """A counted table of which some comments are as an older version wrote them."""
    await CommentRepository(table).put_many(COMMENTS)
    older = [COMMENT.encode(one) for one in OLDER]
    await table.put_many(
        [{name: item[name] for name in item if name != BY_AUTHOR.partition_key} for item in older]
    )
    return table


async def test_a_live_table_gets_the_index_with_every_comment_and_keeps_its_counts(
    each_table: Table,
) -> None:
    table = await older_table(each_table)
    assert await upgraded(table, author_index=False) == Upgraded([], False, 0, False), (
        "keys of an index that nobody asked for cost a write each"
    )
    assert await upgraded(table) == Upgraded(["byAuthor"], False, len(OLDER), False)
    store = CommentRepository(table)
    await check(store, COMMENTS)
    assert store.authors.listed
    state = await MaintenanceStore(table).read()
    assert state.exact
    refuse_outdated(await admin.describe(table), state.indexes)
    assert await upgraded(table, author_index=False) == Upgraded([], False, 0, False)
    assert (await MaintenanceStore(table).read()).author_index, "it stays as it is"


async def test_nobody_lists_authors_before_every_comment_has_its_key(table: Table) -> None:
    """Killed at any request, and begun again: a list is complete or refused."""
    await older_table(table)
    chance, engine, kills = random.Random(3), Engine(table._client), 0
    while True:
        engine.left, engine.done_before_death = chance.randrange(18), chance.random() < 0.5
        try:
            # A command that names no index goes on with what was begun.
            begun = has_any(await admin.describe(table), [BY_AUTHOR])
            await upgraded(Table(engine, table.name), author_index=not begun)
            break
        except Killed:
            kills += 1
        try:
            await check(CommentRepository(table), COMMENTS)
        except NoOptionalIndexError:
            continue
    assert kills > 3
    await check(CommentRepository(table), COMMENTS)


async def test_the_index_is_removed_once_nobody_reads_it_and_comes_back_whole(
    table: Table,
) -> None:
    await older_table(table)
    await upgraded(table)
    maintenance = MaintenanceStore(table)
    waited: list[bool] = []

    async def wait() -> None:
        waited.append((await maintenance.read()).author_index)
        assert has_any(await admin.describe(table), [BY_AUTHOR])

    state = await maintenance.announce(await maintenance.read(), upgrading=True)
    with pytest.raises(StoreRefusedError, match="end it by `marginalia table upgrade`"):
        await drop_author_index(table, lambda *_: None, wait)
    await maintenance.announce(state, upgrading=False)
    assert await drop_author_index(table, lambda *_: None, wait)
    assert waited == [False]
    assert not await drop_author_index(table, lambda *_: None, wait)
    state = await maintenance.read()
    refuse_outdated(await admin.describe(table), state.indexes)
    assert state.exact
    later = [one._replace(comment_id=f"later/{one.comment_id}") for one in COMMENTS[:9]]
    await CommentRepository(table).put_many(later)
    assert await upgraded(table) == Upgraded(["byAuthor"], False, 0, False)
    await check(CommentRepository(table), [*COMMENTS, *later])


async def test_an_index_that_somebody_removed_is_missed_and_made_anew(table: Table) -> None:
    await older_table(table)
    await upgraded(table)
    await index_creation.remove_index(table, "byAuthor", lambda *_: None)
    state = await MaintenanceStore(table).read()
    with pytest.raises(StoreRefusedError, match="lacks the index byAuthor"):
        refuse_outdated(await admin.describe(table), state.indexes)
    assert (await upgraded(table, author_index=False)).indexes == ["byAuthor"]
    await check(CommentRepository(table), COMMENTS)


async def test_a_comment_has_its_authors_key_in_any_table(table: Table) -> None:
    await CommentRepository(table).put_many(COMMENTS[:1])
    (one,) = COMMENTS[:1]
    item = await table.get(comment_key(one.comment_id))
    assert item is not None
    assert item[BY_AUTHOR.partition_key] == {"S": f"AUTHOR#{one.username}"}
