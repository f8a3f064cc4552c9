"""Comments by author: pages compared with the oracle, even on a table older than the index."""

import random
from datetime import timedelta
from functools import partial

import pytest

from dal.counts.mode import MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.entities.comment import BY_AUTHOR, COMMENT, comment_key, comment_position
from dal.maintenance import tables
from dal.maintenance.tables import Upgraded, upgrade
from dal.model import Comment
from dal.query.pagination import Slice
from dal.repositories.comments import AuthorSelection, CommentRepository
from dal.stores import Stores
from dal.table.definition import refuse_outdated
from dal.table.errors import StoreRefusedError
from dal.table.key_parts import format_instant
from tests import oracle
from tests.edges import edge_of
from tests.putting import put_comments
from tests.strategies import comment
from tests.writers import Engine, Killed, ignore

NAMES = ("ana", "an", "ana/1#%2F", "Ωλγα 🙂 %", "..", "ana#0")
COMMENTS = [
    one._replace(username=NAMES[number % len(NAMES)], product_id=("42", "42/en", "4#2")[number % 3])
    for number, one in enumerate(oracle.make_comments("42", 96, seed=9))
]
OLDER, NEWER = COMMENTS[:40], COMMENTS[40:]
TEN = oracle.START + timedelta(hours=10), oracle.START + timedelta(hours=61)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LOOK_EVERY", 0)


def of(author: str, comments: list[Comment]) -> list[Comment]:
    return oracle.newest_first(one for one in comments if one.username == author)


async def check(store: CommentRepository, comments: list[Comment], size: int = 7) -> None:
    """Compare the pages of each author, from both ends. The last page is not full."""
    for number, author in enumerate(NAMES):
        backward, reverse = bool(number & 1), bool(number & 2)
        read = partial(store.page_of_author, AuthorSelection(author))
        found = await oracle.walk_pages(read, size, backward=backward, reverse=reverse)
        assert found == of(author, comments)[:: -1 if reverse else 1]


async def test_an_authors_pages_equal_the_oracles(each_table: Table) -> None:
    store = Stores(each_table).comments
    await put_comments(store, COMMENTS)
    await check(store, COMMENTS)
    dated = AuthorSelection("ana", *TEN)
    found = await oracle.walk_pages(partial(store.page_of_author, dated), 3, backward=False)
    assert found == [one for one in of("ana", COMMENTS) if TEN[0] <= one.created_at < TEN[1]]
    page = await store.page_of_author(AuthorSelection("nobody"), Slice(5, next_page=True))
    assert (page.nodes, page.page_info.has_next_page) == ([], False)


@pytest.mark.parametrize("seed", range(6))
async def test_pages_are_exact_while_other_clients_write(table: Table, seed: int) -> None:
    """Between pages, comments are added, deleted and edited, including the cursor's comment."""
    store, chance = Stores(table).comments, random.Random(seed)
    rows = {one.comment_id: one for one in COMMENTS[:36]}
    await put_comments(store, list(rows.values()))
    backward, reverse, end = chance.random() < 0.5, chance.random() < 0.5, None
    for step in range(6):
        cut = oracle.next_cut(3, end, backward=backward, reverse=reverse)
        page = await store.page_of_author(AuthorSelection("ana"), cut)
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
            rows[which.comment_id] = edge_of(edited).node
        tie = chance.choice(list(listed.values())).created_at
        new = comment(f"new/{step}", username="ana", created_at=tie)
        rows[new.comment_id] = edge_of(await store.add(new)).node


async def older_table(table: Table) -> Table:
    """Return a table without the index. An older version wrote some of its comments."""
    await put_comments(Stores(table).comments, COMMENTS)
    older = [COMMENT.encode(one) for one in OLDER]
    added = {BY_AUTHOR.partition_key, "product", "createdAt"}
    await table.put_many(
        [{name: item[name] for name in item if name not in added} for item in older]
    )
    deletion = {"Delete": {"IndexName": "byAuthor"}}
    await table.once("update_table", TableName=table.name, GlobalSecondaryIndexUpdates=[deletion])
    return table


async def upgraded(table: Table) -> Upgraded:
    return await upgrade(
        table,
        index_progress=lambda *_: None,
        scan_progress=ignore,
        wait_for_writers=nobody,
    )


async def nobody() -> None:
    """Do not wait: no other process writes."""


async def test_a_table_in_use_gets_the_new_index_with_every_comment_and_keeps_its_counts(
    each_table: Table,
) -> None:
    table = await older_table(each_table)
    with pytest.raises(StoreRefusedError, match="lacks the index byAuthor"):
        refuse_outdated(await admin.describe(table), INDEXES)
    assert await upgraded(table) == Upgraded(["byAuthor"], False, len(OLDER), False)
    await check(Stores(table).comments, COMMENTS)
    assert (await MaintenanceStore(table).read()).exact
    refuse_outdated(await admin.describe(table), INDEXES)
    assert await upgraded(table) == Upgraded([], False, 0, False)


async def test_after_an_interrupted_upgrade_is_run_again_every_comment_is_in_the_index(
    table: Table,
) -> None:
    await older_table(table)
    chance, engine, kills = random.Random(3), Engine(table.service), 0
    while True:
        engine.left, engine.done_before_death = chance.randrange(18), chance.random() < 0.5
        try:
            await upgraded(Table(engine, table.name))
            break
        except Killed:
            kills += 1
    assert kills > 3
    await check(Stores(table).comments, COMMENTS)


async def test_an_item_has_its_product_and_time_outside_of_its_keys(table: Table) -> None:
    await put_comments(Stores(table).comments, COMMENTS[:1])
    (one,) = COMMENTS[:1]
    item = await table.get(comment_key(one.comment_id))
    assert item is not None
    assert item["product"] == {"S": one.product_id}
    assert item["createdAt"] == {"S": format_instant(one.created_at)}
    assert item[BY_AUTHOR.partition_key] == {"S": "AUTHOR#ana"}
