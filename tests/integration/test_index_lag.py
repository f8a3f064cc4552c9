"""Pages while indexes lag, on the fake of Amazon DynamoDB.

Consider a row that indexes show before a walk, and that keeps its product, language and rating
until the walk ends. The walk returns this row exactly once and in its place, whatever else is
written and however long each partition lags. No row is returned twice. If the rating or language of
a row changes, the row may be missing until both its old and its new partition show the change. It
is never missing if the page is read from one partition that contains the row before and after the
change.
"""

import random
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb.table import Table
from dal.model import RATINGS, Comment
from dal.query.cursors import decode_cursor
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.stores import Stores
from tests import oracle, recount
from tests.amazon import Amazon, settle
from tests.amazon.clock import Clock
from tests.edges import edge_of
from tests.putting import put_comments
from tests.strategies import FEW
from tests.verifying import verify
from tests.writers import ignore

LAG = 10.0


@pytest.fixture
def amazon(table: Table) -> Amazon:
    """The fake service of this test's table. Only its indexes lag."""
    engine = table.service
    service = Amazon(engine, Clock())
    table.service = service
    service.lag.most, service.lag.waver = LAG, LAG / 4
    return service


@FEW
@given(
    size=st.integers(1, 7),
    ratings=st.none() | st.sets(st.sampled_from(RATINGS), min_size=1).map(frozenset),
    languages=st.none()
    | st.sets(st.sampled_from(oracle.LANGUAGES), min_size=1, max_size=3).map(frozenset),
    backward=st.booleans(),
    reverse=st.booleans(),
    remembers=st.booleans(),
    seed=st.integers(0, 10**9),
)
async def test_rows_that_stay_in_their_partition_are_returned_once_and_in_order(
    amazon: Amazon,
    table: Table,
    size: int,
    ratings: frozenset[int] | None,
    languages: frozenset[str] | None,
    *,
    backward: bool,
    reverse: bool,
    remembers: bool,
    seed: int,
) -> None:
    chance, product = random.Random(seed), uuid.uuid4().hex
    amazon.lag.seed = seed
    writer, reader = Stores(table).comments, Stores(table).comments
    rows = oracle.make_comments(product, 24, seed=seed)
    await put_comments(writer, rows)
    settle(table)
    if remembers:
        await oracle.walk(reader, Selection(product), 20, backward=False)
    selection = Selection(product, ratings, languages)
    kept = {row.comment_id for row in rows}
    seen: list[Comment] = []
    end: str | None = None
    for number in range(200):
        await _write(writer, chance, rows, kept, f"{product}/new{number}")
        amazon.clock.advance(chance.choice([0, LAG / 3]))
        page = await reader.page(
            selection, oracle.next_cut(size, end, backward=backward, reverse=reverse)
        )
        assert all(_passes(row, selection) for row in page.nodes)
        seen = [*page.nodes, *seen] if backward else [*seen, *page.nodes]
        info = page.page_info
        if page.edges:
            end = page.edges[0 if backward else -1].position
        if not (info.has_previous_page if backward else info.has_next_page):
            break
    else:
        pytest.fail("the walk does not end")
    assert len({row.comment_id for row in seen}) == len(seen), "no repeats"
    shown = seen[::-1] if reverse else seen
    assert shown == oracle.newest_first(shown), "one order over all pages"
    expected = oracle.selected([row for row in rows if row.comment_id in kept], selection)
    assert [row.comment_id for row in shown if row.comment_id in kept] == [
        row.comment_id for row in expected
    ]


def _passes(row: Comment, selection: Selection) -> bool:
    return (selection.ratings is None or row.rating in selection.ratings) and (
        selection.languages is None or row.language in selection.languages
    )


async def _write(
    store: CommentRepository,
    chance: random.Random,
    rows: list[Comment],
    kept: set[str],
    new_id: str,
) -> None:
    """Add or delete a comment, or change its rating or its text.

    ``kept`` loses the comments that are deleted or rated.
    """
    row = chance.choice(rows)
    match chance.choice(["add", "delete", "rate", "text"]):
        case "add":
            await store.add(row._replace(comment_id=new_id))
        case "delete" if row.comment_id in kept:
            kept.discard(row.comment_id)
            await store.delete(row.comment_id, lambda _: None)
        case "rate" if row.comment_id in kept:
            kept.discard(row.comment_id)
            rating = row.rating % 5 + 1
            await store.update(row.comment_id, {"rating": rating}, lambda _: None)
        case "text" if row.comment_id in kept:
            await store.update(row.comment_id, {"text": f"edited {new_id}"}, lambda _: None)
        case _:
            pass


async def test_a_row_whose_rating_changes_may_be_missing_but_is_never_returned_twice(
    amazon: Amazon, table: Table
) -> None:
    """A page may lack the row, but never contains it twice."""
    writer, product = Stores(table).comments, "42"
    rows = oracle.make_comments(product, 40, seed=1)
    await put_comments(writer, rows)
    settle(table)
    amazon.lag.waver = 0
    for row in rows:
        await writer.update(row.comment_id, {"rating": row.rating % 5 + 1}, lambda _: None)
    missing, twice = set[str](), set[str]()
    for _ in range(10):
        places = {
            rating: await oracle.walk(Stores(table).comments, _of(rating), 100, backward=False)
            for rating in RATINGS
        }
        stand = [row.comment_id for found in places.values() for row in found]
        missing |= {row.comment_id for row in rows} - {*stand}
        twice |= {one for one in stand if stand.count(one) > 1}
        page = await Stores(table).comments.page(_of(1, 3, 4), Slice(100))
        ids = [row.comment_id for row in page.nodes]
        assert len(ids) == len({*ids})
        amazon.clock.advance(LAG / 10)
    assert missing
    assert twice
    settle(table)
    after = {row.comment_id for row in rows if row.rating % 5 + 1 in {1, 3, 4}}
    page = await Stores(table).comments.page(_of(1, 3, 4), Slice(100))
    assert {row.comment_id for row in page.nodes} == after


def _of(*ratings: int) -> Selection:
    return Selection("42", frozenset(ratings))


async def test_a_page_of_one_partition_never_lacks_a_row_that_passes_before_and_after(
    amazon: Amazon, table: Table
) -> None:
    """Most comments have the four selected ratings, so the page is read from the index of
    all ratings.
    """
    writer = Stores(table).comments
    rows = [
        row._replace(rating=1 + n % 4)
        for n, row in enumerate(oracle.make_comments("42", 40, seed=2))
    ]
    rows += [
        row._replace(comment_id=f"five{n}", rating=5)
        for n, row in enumerate(oracle.make_comments("42", 2, seed=3))
    ]
    await put_comments(writer, rows)
    settle(table)
    most = _of(1, 2, 3, 4)
    for row in rows[:40:3]:
        await writer.update(row.comment_id, {"rating": row.rating % 4 + 1}, lambda _: None)
        page = await Stores(table).comments.page(most, Slice(100))
        assert page.stats.index == "all"
        assert [one.comment_id for one in page.nodes] == [
            one.comment_id for one in oracle.selected(rows, most)
        ]
        amazon.clock.advance(LAG / 20)
    assert amazon.lag.hidden


async def test_counts_and_verify_do_not_depend_on_index_lag(amazon: Amazon, table: Table) -> None:
    store = Stores(table).comments
    rows = oracle.make_comments("42", 40, seed=4)
    await put_comments(store, rows)
    for row in rows[::3]:
        await store.update(row.comment_id, {"rating": row.rating % 5 + 1}, lambda _: None)
    for row in rows[1::5]:
        await store.delete(row.comment_id, lambda _: None)
    left = len(rows) - len(rows[1::5])
    assert await store.total(Selection("42")) == left
    assert await verify(table, ignore) == []
    settle(table)
    assert len(await recount.check(table, "42")) == left


async def test_a_cursor_of_a_row_that_the_index_lacks_continues_after_its_position(
    amazon: Amazon, table: Table
) -> None:
    """A mutation's payload contains such a cursor, and the client's list may continue from it."""
    store = Stores(table).comments
    rows = oracle.make_comments("42", 12, seed=5)
    await put_comments(store, rows)
    settle(table)
    newest = max(row.created_at for row in rows)
    new = rows[0]._replace(comment_id="new", created_at=newest.replace(year=newest.year + 1))
    edge = edge_of(await store.add(new))
    page = await store.page(
        Selection("42"), Slice(3, after=decode_cursor(edge.cursor), previous_page=True)
    )
    assert page.nodes == oracle.newest_first(rows)[:3]
    settle(table)
    page = await store.page(Selection("42"), Slice(3))
    assert page.nodes[0] == new
