"""Rows and pages of the fake engine."""

import zlib
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from dal.catalogue import Order
from dal.entities.comment import COMMENT, comment_position
from dal.model import RATINGS, Comment
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.repositories.comments import Selection
from dal.sorted_lists import StageReader, by_date
from tests import oracle
from tests.fakes import FakeEngine
from tests.strategies import LANGUAGES, TIES, comment

IDS = [*(f"{number:02}" for number in range(12)), "a/b", "a#", "é", "\ue000", "😀"]
PRODUCT = "42/en"
ANY = Selection(PRODUCT)


def dense(comment_id: str, **fields: Any) -> Comment:
    return comment(comment_id, product_id=PRODUCT, **fields)


rows = st.builds(
    dense,
    comment_id=st.sampled_from(IDS),
    created_at=st.sampled_from(TIES),
    rating=st.sampled_from(RATINGS),
    language=st.sampled_from(LANGUAGES),
    verified_purchase=st.booleans(),
    votes_before=st.sampled_from([0, 0, 1, 2, 11]),
)
row_lists = st.lists(rows, unique_by=lambda row: row.comment_id, max_size=len(IDS))
selections = st.builds(
    Selection,
    st.just(PRODUCT),
    st.none() | st.frozensets(st.sampled_from(RATINGS)),
    st.none() | st.frozensets(st.sampled_from(LANGUAGES)),
    st.none() | st.sampled_from(TIES),
    st.none() | st.sampled_from(TIES),
    verified_only=st.booleans(),
    search=st.sampled_from(["", "", "title", "text\tx"]),
    order=st.sampled_from([None, *Order]),
)
# The position of a row or of a deleted row, or one between rows.
ends = st.none() | rows.map(comment_position)
cuts = st.builds(
    Slice, st.integers(0, 8), st.booleans(), ends, ends, *[st.booleans()] * 3, total=st.booleans()
)


def placed(cut: Slice, selection: Selection) -> Slice:
    """Return a slice whose ends are positions in the selection's order.

    The ends of ``cut`` are positions in the order by date.
    """

    def end(position: str | None) -> str | None:
        if position is None or selection.order is None:
            return position
        number = zlib.crc32(position.encode()) % 5
        some = dense("any", rating=1 + number, votes_before=max(0, number - 1))
        return oracle.position_in(selection.order, some).partition("#")[0] + "#" + position

    return replace(cut, after=end(cut.after), before=end(cut.before))


def engine_of(comments: list[Comment], **settings: Any) -> FakeEngine:
    engine = FakeEngine(**settings)
    engine.put(*map(COMMENT.encode, comments))
    return engine


async def read(engine: FakeEngine, selection: Selection, cut: Slice) -> Page[Comment]:
    executor = Executor(engine, COMMENT.indexes)
    if selection.order is None:
        reader = PageReader(executor, COMMENT.decode_row, descending=True)
    else:
        reader = PageReader(
            StageReader(executor), lambda row: COMMENT.decode_row(by_date(row)), descending=True
        )
    return await reader.read(selection.query(), cut)


def listed(comments: list[Comment], selection: Selection) -> list[str]:
    """Return the positions of the selected comments in list order."""
    kept = oracle.selected(comments, selection)
    return [oracle.position_in(selection.order, comment) for comment in kept]
