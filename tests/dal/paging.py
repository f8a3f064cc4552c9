"""Pages over the fake engine: the rows, the reading, and what a page must be by the letter."""

from typing import Any

from hypothesis import strategies as st

from dal.comments import Selection
from dal.indexes import COMMENT_INDEXES
from dal.items import comment_position, decode_comment, encode_comment
from dal.model import RATINGS, Comment
from dal.pages import Page, PageReader
from dal.rows import RowReader
from dal.slices import Slice
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
)
row_lists = st.lists(rows, unique_by=lambda row: row.comment_id, max_size=len(IDS))
selections = st.builds(
    Selection,
    st.just(PRODUCT),
    st.none() | st.frozensets(st.sampled_from(RATINGS)),
    st.none() | st.frozensets(st.sampled_from(LANGUAGES)),
)
ends = st.none() | rows.map(comment_position)  # of a row, of one that is gone, or in between
cuts = st.builds(Slice, st.integers(0, 8), st.booleans(), ends, ends, st.booleans(), st.booleans())


def engine_of(comments: list[Comment], **settings: Any) -> FakeEngine:
    engine = FakeEngine(**settings)
    engine.put(*map(encode_comment, comments))
    return engine


async def read(engine: FakeEngine, selection: Selection, cut: Slice) -> Page[Comment]:
    reader = PageReader(RowReader(engine, COMMENT_INDEXES), decode_comment, descending=True)
    return await reader.read(selection.query(), cut)


def listed(comments: list[Comment], selection: Selection) -> list[str]:
    """Return the oracle: the positions of the selected comments, newest first."""
    return sorted(
        (
            comment_position(one)
            for one in comments
            if (selection.ratings is None or one.rating in selection.ratings)
            and (selection.languages is None or one.language in selection.languages)
        ),
        reverse=True,
    )


def expected(positions: list[str], cut: Slice) -> tuple[list[str], bool, bool]:
    """Return the page by the letter: its positions, whether some follow, whether some precede."""
    within = [
        one
        for one in positions
        if (cut.after is None or one < cut.after) and (cut.before is None or one > cut.before)
    ]
    left_out = max(len(within) - cut.limit, 0)
    page = within[left_out:] if cut.backward else within[: cut.limit]
    follows = cut.before is not None and any(one <= cut.before for one in positions)
    precedes = cut.after is not None and any(one >= cut.after for one in positions)
    if cut.backward:
        return page, follows, precedes or left_out > 0
    return page, follows or left_out > 0, precedes


def next_cut(size: int, end: str | None, *, backward: bool) -> Slice:
    after, before = (None, end) if backward else (end, None)
    return Slice(size, backward, after, before, next_page=True, previous_page=True)
