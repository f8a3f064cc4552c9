"""Pages over the fake engine: the rows, and reading them."""

from typing import Any

from hypothesis import strategies as st

from dal.entities.comment import COMMENT, comment_position
from dal.model import RATINGS, Comment
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.repositories.comments import Selection
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
)
row_lists = st.lists(rows, unique_by=lambda row: row.comment_id, max_size=len(IDS))
selections = st.builds(
    Selection,
    st.just(PRODUCT),
    st.none() | st.frozensets(st.sampled_from(RATINGS)),
    st.none() | st.frozensets(st.sampled_from(LANGUAGES)),
    st.none() | st.sampled_from(TIES),
    st.none() | st.sampled_from(TIES),
    st.booleans(),
)
ends = st.none() | rows.map(comment_position)  # of a row, of one that is gone, or in between
cuts = st.builds(Slice, st.integers(0, 8), st.booleans(), ends, ends, *[st.booleans()] * 3)


def engine_of(comments: list[Comment], **settings: Any) -> FakeEngine:
    engine = FakeEngine(**settings)
    engine.put(*map(COMMENT.encode, comments))
    return engine


async def read(engine: FakeEngine, selection: Selection, cut: Slice) -> Page[Comment]:
    reader = PageReader(Executor(engine, COMMENT.indexes), COMMENT.decode_row, descending=True)
    return await reader.read(selection.query(), cut)


def listed(comments: list[Comment], selection: Selection) -> list[str]:
    """Return the positions of the selected comments, newest first."""
    return [comment_position(comment) for comment in oracle.selected(comments, selection)]
