"""On real engines, every page of every selection equals the oracle's."""

import asyncio
import itertools
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.catalogue import Order
from dal.dynamodb.table import Table
from dal.model import RATINGS, Comment
from dal.model.submissions import ReviewCause
from dal.query.cursors import decode_cursor
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.stores import Stores
from tests import oracle
from tests.edges import edge_of
from tests.engines import SECOND_IN_SOAK
from tests.fakes import anybody
from tests.feature_lists import merged
from tests.moderating import edit_for, held_for, reject
from tests.putting import put_comments
from tests.strategies import FEW

WORDS = ReviewCause.WORDS
PRODUCTS = ("42", "42/en")
DATES = [
    (None, None),
    (oracle.START + timedelta(hours=7), None),
    (None, oracle.START + timedelta(hours=19)),
    # Two comments have the first of these times.
    (oracle.START + timedelta(hours=1), oracle.START + timedelta(hours=18, microseconds=1)),
]


def dated(selection: Selection, number: int) -> Selection:
    """Return the selection with other filters and an order, by its number.

    A quarter has no dates, a third is of buyers only, and a fifth is of comments with photos only.
    A third searches for words.
    Half of the selections are sorted by date.
    """
    start, end = DATES[number % 4]
    order = None if number % 2 else [*Order][number // 2 % len(Order)]
    return replace(
        selection,
        created_from=start,
        created_before=end,
        verified_only=number % 3 == 0,
        has_photos=number % 5 == 0,
        order=order,
        search=oracle.SEARCHES[number // 3 % len(oracle.SEARCHES)] if number % 3 == 1 else "",
    )


@pytest.fixture(scope="module")
async def data() -> list[Comment]:
    return [
        comment._replace(verified_purchase=number % 3 > 0)
        for seed, product in enumerate(PRODUCTS)
        for number, comment in enumerate(
            oracle.with_photos(oracle.voted(oracle.make_comments(product, 24, seed=seed)))
        )
    ]


@pytest.fixture
async def store(each_table: Table, data: list[Comment]) -> CommentRepository:
    store = Stores(each_table).comments
    await put_comments(store, data)
    return store


WALKS = [
    # Every seventh selection: each rating, each language, and most sets of ratings.
    *(("dynoxide_url", size, 7) for size in (1, 3, 20, 100)),
    ("ministack_url", 3, 21),
    *(
        pytest.param(engine, size, 1, marks=pytest.mark.soak)
        for engine in ("dynoxide_url", "ministack_url")
        for size in (1, 3, 20, 100)
    ),
]


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize(("each_table", "size", "stride"), WALKS, indirect=["each_table"])
async def test_walks_over_every_selection_equal_the_oracles(
    store: CommentRepository, data: list[Comment], size: int, stride: int, *, backward: bool
) -> None:
    """`make soak` compares every selection, and `make test` every ``stride``-th."""

    async def check(number: int, selection: Selection) -> int:
        reverse = number % 8 > 3
        rows = await oracle.walk(store, selection, size, backward=backward, reverse=reverse)
        assert rows == oracle.selected(data, selection)[:: -1 if reverse else 1]
        return len(rows)

    every = [selection for product in PRODUCTS for selection in oracle.selections(product)]
    chosen = [(number, dated(one, number)) for number, one in enumerate(every[::stride])]
    seen = 0
    for start in range(0, len(chosen), 8):
        seen += sum(await asyncio.gather(*(check(*one) for one in chosen[start : start + 8])))
    assert seen > len(data)


async def _rate(stores: Stores, of: Comment, number: int) -> Comment:
    changes = {"rating": number % 5 + 1}
    return edge_of(await stores.comments.update(of.comment_id, changes, anybody)).node


async def _load_votes(stores: Stores, of: Comment, number: int) -> Comment:
    voted = of._replace(votes_before=number % 4)
    await put_comments(stores.comments, [voted])
    return voted


Change = Callable[[Stores, Comment, int], Awaitable[Comment]]
_CHANGES: Mapping[str, Change] = {"rate": _rate, "load votes": _load_votes}
CHANGES = merged(_CHANGES, "CHANGES")
"""Changes of a comment, which use a number, and return the changed comment."""

dates = st.none() | st.integers(-1, 24).map(lambda hour: oracle.START + timedelta(hours=hour))
"""Many of these dates are the time of one comment, and some the time of two."""


@st.composite
def changes(draw: st.DrawFn) -> list[list[tuple[str, int]]]:
    """Draw the changes before each page: comments that are added, hidden or changed."""
    kinds = ["insert", "delete", "edit for review", "reject", "approve", *CHANGES]
    change = st.tuples(st.sampled_from(kinds), st.integers(0, 10**6))
    return draw(st.lists(st.lists(change, max_size=3), min_size=1, max_size=6))


@FEW
@SECOND_IN_SOAK
@given(
    happenings=changes(),
    size=st.integers(1, 7),
    ratings=st.none() | st.sets(st.sampled_from(RATINGS), min_size=1),
    languages=st.none() | st.sets(st.sampled_from(oracle.LANGUAGES), min_size=1, max_size=2),
    created=st.tuples(dates, dates),
    backward=st.booleans(),
    reverse=st.booleans(),
    remembers=st.booleans(),
    verified_only=st.booleans(),
    has_photos=st.booleans(),
    order=st.sampled_from([None, *Order]),
    products=st.sampled_from([1, 3]),
    search=st.sampled_from(["", *oracle.SEARCHES]),
    seed=st.integers(0, 10**9),
)
async def test_rows_that_exist_during_the_whole_walk_are_returned_once_and_in_order(
    each_table: Table,
    happenings: list[list[tuple[str, int]]],
    size: int,
    ratings: set[int] | None,
    languages: set[str] | None,
    created: tuple[datetime | None, datetime | None],
    *,
    backward: bool,
    reverse: bool,
    remembers: bool,
    verified_only: bool,
    has_photos: bool,
    order: Order | None,
    products: int,
    search: str,
    seed: int,
) -> None:
    """The lists are of one or several products, with and without row locations of an earlier read.

    In an order by rating or votes, a row whose rating or votes change may be missing or occur
    twice. Every other row occurs once.
    """
    stores = Stores(each_table)
    store = stores.comments
    product, *variants = (uuid.uuid4().hex for _ in range(products))
    selection = Selection(
        product,
        None if ratings is None else frozenset(ratings),
        None if languages is None else frozenset(languages),
        *created,
        verified_only,
        has_photos,
        order,
        frozenset(variants),
        search,
    )
    before = [
        comment._replace(verified_purchase=number % 3 > 0)
        for place, one in enumerate((product, *variants))
        for number, comment in enumerate(
            oracle.with_photos(
                oracle.voted(oracle.make_comments(one, 24 >> place, seed=seed + place))
            )
        )
    ]
    held = [one._replace(comment_id=f"{one.comment_id}/held") for one in before[::3]]
    await put_comments(store, before)
    for waiting in held:
        await store.add(waiting, hold=held_for(WORDS))
    if remembers:
        for one in selection.product_ids:
            await oracle.walk(store, Selection(one), 20, backward=False)
    live = {comment.comment_id: comment for comment in before}
    hidden = list(held)
    always, number = set(live), itertools.count()
    shown: list[Comment] = []
    pending = list(happenings)
    position = None
    while True:
        cut = oracle.next_cut(size, position, backward=backward, reverse=reverse)
        page = await store.page(selection, cut)
        assert page.nodes == oracle.page(live.values(), selection, cut)
        shown = [*page.nodes, *shown] if backward else [*shown, *page.nodes]
        info = page.page_info
        if page.edges:
            position = page.edges[0 if backward else -1].position
        if not (info.has_previous_page if backward else info.has_next_page):
            break
        for kind, place in pending.pop(0) if pending else []:
            new_id = f"{product}/new{next(number)}"
            await _happen(stores, live, hidden, always, kind, place, new_id)
    if reverse:
        shown.reverse()
    positions = [oracle.position_in(order, comment) for comment in shown]
    assert positions == sorted(set(positions), reverse=True), "one order, without repeats"
    kept = [comment for comment in before if comment.comment_id in always]
    assert [c for c in shown if c.comment_id in always] == oracle.selected(kept, selection)


async def _happen(
    stores: Stores,
    live: dict[str, Comment],
    hidden: list[Comment],
    always: set[str],
    kind: str,
    place: int,
    new_id: str,
) -> None:
    """Change, hide or publish a comment."""
    store = stores.comments
    chosen = oracle.newest_first(live.values())[place % len(live)]
    always.discard(chosen.comment_id) if kind not in {"insert", "approve"} else None
    hides = {"delete", "edit for review", "reject"}
    if kind in hides and len(live) > 1:
        if kind == "delete":
            await store.delete(chosen.comment_id, anybody)
        elif kind == "reject":
            await reject(stores, chosen.comment_id)
        else:
            changes = {"text": "Spam", "rating": place % 5 + 1}
            await store.update(chosen.comment_id, changes, anybody, edit_for(WORDS))
        hidden += [] if kind == "delete" else [chosen]
        del live[chosen.comment_id]
    elif kind == "approve":
        for one in [*hidden]:
            if (one.username, one.product_id) == (chosen.username, chosen.product_id):
                edge = edge_of(await store.update(one.comment_id, {}, anybody, edit_for(None)))
                live[one.comment_id] = edge.node
                hidden.remove(one)
    elif kind in CHANGES:
        live[chosen.comment_id] = await CHANGES[kind](stores, chosen, place)
    elif kind == "insert":
        new = chosen._replace(comment_id=new_id, rating=place % 5 + 1)
        await store.add(new)
        live[new.comment_id] = new


@pytest.mark.parametrize("depth_first", [False, True])
async def test_every_cursor_continues_after_its_row(
    store: CommentRepository, data: list[Comment], *, depth_first: bool
) -> None:
    """The cursor works with its own and other filters, dates and orders, even if its row
    was deleted.
    """
    mine = [comment for comment in data if comment.product_id == PRODUCTS[0]]
    narrow = Selection(PRODUCTS[0], frozenset({1, 4, 5}), frozenset({"en", "fr", "de"}))
    wide = Selection(PRODUCTS[0])
    page = await store.page(wide, Slice(100))
    for edge in reversed(page.edges) if depth_first else page.edges:
        assert len(edge.cursor) <= 80
        position = decode_cursor(edge.cursor)
        for gone in (False, True):
            if gone:
                await store.delete(edge.node.comment_id, lambda _: None)
                mine.remove(edge.node)
            for selection, reverse in itertools.product(
                (wide, narrow, dated(narrow, 3)), (False, True)
            ):
                cut = Slice(5, after=position, reverse=reverse)
                resumed = await store.page(selection, cut)
                assert resumed.nodes == oracle.page(mine, selection, cut)
