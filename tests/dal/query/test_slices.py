from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.query.pagination import Slice, walk
from dal.table.ranges import Range
from tests.fakes import within
from tests.strategies import MORE

KEYS = "abcdefg"
ENDS = [None, "b", "d", "f"]


def keys_in(span: Range) -> set[str]:
    return set() if span.empty else {key for key in KEYS if within(span, key)}


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(("after", "before"), list(product(ENDS, ENDS)))
@pytest.mark.parametrize("asked", [False, True])
def test_a_walk_reads_what_lies_between_the_two_ends(
    after: str | None, before: str | None, backward: bool, descending: bool, asked: bool
) -> None:
    way = walk(
        Slice(3, backward, after, before, next_page=asked, previous_page=asked),
        descending=descending,
    )
    in_order = sorted(KEYS, reverse=way.descending)
    place = {key: number for number, key in enumerate(in_order)}
    start = -1 if way.start is None else place[way.start]
    end = len(KEYS) if way.end is None else place[way.end]
    between = {key for key in KEYS if start < place[key] < end}
    proof = {way.start} if way.touches_start and start < end else set()
    assert keys_in(way.span) == between | proof
    if way.end is not None:
        assert keys_in(way.beyond) == {key for key in KEYS if place[key] >= end}
    if way.start is not None:
        passed = {key for key in KEYS if place[key] <= start}
        assert keys_in(way.before_start) | {way.start} == passed


@MORE
@given(
    st.integers(0, 100),
    st.sampled_from(ENDS),
    st.sampled_from(ENDS),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_reading_backward_is_reading_forward_in_the_mirror(
    limit: int, after: str | None, before: str | None, ahead: bool, behind: bool, descending: bool
) -> None:
    backward = Slice(limit, True, after, before, next_page=behind, previous_page=ahead)
    mirrored = Slice(limit, False, before, after, next_page=ahead, previous_page=behind)
    assert walk(backward, descending=descending) == walk(mirrored, descending=not descending)
