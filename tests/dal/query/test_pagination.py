from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dal.entities.comment import COMMENT, comment_position
from dal.model import Comment
from dal.query.cursors import CursorKind, decode_cursor
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from tests.dal.paging import (
    ANY,
    PRODUCT,
    cuts,
    dense,
    engine_of,
    listed,
    placed,
    read,
    row_lists,
    selections,
)
from tests.oracle import next_cut, page_of, position_in
from tests.strategies import MORE

SHORT = [dense(comment_id) for comment_id in ("b", "d", "f")]
SHORT_ENDS = [None, *(comment_position(dense(comment_id)) for comment_id in "abcdefg")]


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("limit", [0, 1, 2, 5])
async def test_every_slice_of_a_short_list_equals_the_oracles(limit: int, backward: bool) -> None:
    """``after`` and ``before`` cross, are equal, or are positions of rows or between rows."""
    engine = engine_of(SHORT)
    for after, before in product(SHORT_ENDS, SHORT_ENDS):
        for reverse in (False, True):
            cut = Slice(limit, backward, after, before, True, True, reverse, total=True)
            page = await read(engine, ANY, cut)
            whole = after is None and before is None and limit >= len(SHORT)
            assert page.total_count == (len(SHORT) if whole else None)
            info = page.page_info
            assert (
                [edge.position for edge in page.edges],
                info.has_next_page,
                info.has_previous_page,
            ) == page_of(listed(SHORT, ANY), cut), cut


@settings(parent=MORE, max_examples=2 * MORE.max_examples)
@given(comments=row_lists, selection=selections, cut=cuts, data=st.data())
async def test_a_page_is_the_slice_of_the_sorted_list(
    comments: list[Comment], selection: Selection, cut: Slice, data: st.DataObject
) -> None:
    cut = placed(cut, selection)
    most_rows = data.draw(st.sampled_from([None, 1, 3]), label="most_rows")
    engine = engine_of(comments, most_rows=most_rows, hollow=data.draw(st.booleans()))
    page = await read(engine, selection, cut)
    positions, follows, precedes = page_of(listed(comments, selection), cut)
    assert [edge.position for edge in page.edges] == positions
    assert [position_in(selection.order, node) for node in page.nodes] == positions
    assert page.page_info.has_next_page == (follows if cut.next_page else None)
    assert page.page_info.has_previous_page == (precedes if cut.previous_page else None)
    whole = cut.after is None and cut.before is None and not (follows or precedes)
    assert page.total_count == (len(positions) if cut.total and whole else None)
    assert page.page_info.start_cursor == (page.edges[0].cursor if positions else None)
    assert page.page_info.end_cursor == (page.edges[-1].cursor if positions else None)
    kind = CursorKind.INSTANT if selection.order is None else selection.order.kind
    assert [decode_cursor(edge.cursor, kind) for edge in page.edges] == positions
    assert page.stats.requests == len(engine.requests)
    assert page.stats.items_read == engine.rows_answered
    assert page.stats.consumed_capacity == 0.5 * len(engine.requests)
    assert sum(one.items_read for one in page.stats.segments) == engine.rows_answered


@MORE
@given(row_lists, selections, st.integers(1, 7), st.booleans(), st.booleans())
async def test_a_walk_returns_every_row_once_in_order(
    comments: list[Comment], selection: Selection, size: int, backward: bool, reverse: bool
) -> None:
    engine = engine_of(comments)
    met: list[str] = []
    end: str | None = None
    while True:
        cut = next_cut(size, end, backward=backward, reverse=reverse)
        page = await read(engine, selection, cut)
        positions = [edge.position for edge in page.edges]
        met = positions + met if backward else met + positions
        info = page.page_info
        ahead, behind = info.has_next_page, info.has_previous_page
        if backward:
            ahead, behind = behind, ahead
        assert behind == (end is not None)
        if not ahead:
            break
        end = positions[0] if backward else positions[-1]
    assert met == listed(comments, selection)[:: -1 if reverse else 1]


@MORE
@given(row_lists, st.booleans(), st.booleans(), selections, st.data())
async def test_changes_between_pages_do_not_repeat_or_skip_unchanged_rows(
    comments: list[Comment],
    backward: bool,
    reverse: bool,
    selection: Selection,
    data: st.DataObject,
) -> None:
    """In the order by votes, a comment with a new vote is a changed row."""
    staying = [one for one in comments if one.comment_id < "06"]
    passing = [one for one in comments if one.comment_id >= "06"]
    engine = engine_of(staying)
    met: list[str] = []
    end, descending = None, backward is reverse
    while True:
        for one in data.draw(st.lists(st.sampled_from(passing)) if passing else st.just([])):
            if data.draw(st.booleans()):
                votes = data.draw(st.sampled_from([0, 1, 2]))
                engine.put(COMMENT.encode(one._replace(votes_before=votes)))
            else:
                engine.delete(COMMENT.encode(one))
        cut = next_cut(3, end, backward=backward, reverse=reverse)
        page = await read(engine, selection, replace(cut, next_page=False, previous_page=False))
        if not page.edges:
            break
        met += [edge.position for edge in (reversed(page.edges) if backward else page.edges)]
        end = met[-1]
        assert met == sorted(set(met), reverse=descending)
    stayed = set(listed(staying, selection))
    assert [one for one in met if one in stayed] == sorted(stayed, reverse=descending)


async def test_a_row_that_changes_segment_while_it_is_read_is_shown_once() -> None:
    before, after = dense("1", rating=1), dense("1", rating=5)
    engine = engine_of([before, dense("0", rating=5)])

    def rate_anew() -> None:
        # Global indexes apply a write at different times, so for a while both partitions may
        # contain the row.
        engine.items["twin", "twin"] = COMMENT.encode(after)

    engine.changes = {1: rate_anew}
    page = await read(engine, Selection(PRODUCT, frozenset({1, 5})), Slice(2, next_page=True))
    assert [node.comment_id for node in page.nodes] == ["1", "0"]
    assert page.page_info.has_next_page is False
