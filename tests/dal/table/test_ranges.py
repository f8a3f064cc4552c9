from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.table.ranges import Range, just_above, just_below
from tests.fakes import within
from tests.strategies import MORE

# The lowest and highest of the characters that keys may contain, and the two around the surrogates.
# U+10FFFF is reserved.
ALPHABET = "\0\x01#a\ud7ff\ue000\uffff\U00010000\U0010fffe"
ALL_KEYS = sorted(
    "".join(letters) for size in range(4) for letters in product(ALPHABET, repeat=size)
)
keys = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\U0010ffff"), min_size=1
)
ends = st.none() | st.text(ALPHABET, min_size=1, max_size=2)
ranges = st.builds(Range, ends, ends, st.booleans(), st.booleans())


def test_code_points_sort_as_utf_8_bytes_do() -> None:
    assert sorted(ALL_KEYS, key=str.encode) == ALL_KEYS


def test_no_key_lies_between_a_position_and_the_next_below() -> None:
    for predecessor, position in pairwise(ALL_KEYS):
        assert predecessor <= just_below(position) < position


def test_no_key_lies_between_a_position_and_the_next_above() -> None:
    for position, successor in pairwise(ALL_KEYS):
        assert position < just_above(position) <= successor


@MORE
@given(keys, keys)
def test_neighbours_divide_all_keys(position: str, key: str) -> None:
    assert (key <= just_below(position)) == (key < position)
    assert (key >= just_above(position)) == (key > position)


@MORE
@given(keys)
def test_neighbours_are_valid_utf_8(position: str) -> None:
    assert just_below(position).encode() < position.encode() < just_above(position).encode()


def test_surrogates_are_skipped() -> None:
    assert just_below("\ue000") == "\ud7ff\U0010ffff"


@MORE
@given(ranges)
def test_an_empty_range_holds_no_key(span: Range) -> None:
    if span.empty:
        assert not any(within(span, key) for key in ALL_KEYS)


@MORE
@given(keys, keys, st.booleans(), st.booleans())
def test_a_range_is_empty_when_its_ends_cross_or_exclude_each_other(
    low: str, high: str, low_open: bool, high_open: bool
) -> None:
    assert Range(low, high, low_open, high_open).empty == (
        low > high or (low == high and (low_open or high_open))
    )
    assert not Range(low, low).empty
    assert Range(low, low, low_open=True).empty
    assert Range(low, low, high_open=True).empty


def test_a_range_with_an_unbounded_end_is_never_empty() -> None:
    assert not Range(low="z", low_open=True).empty
    assert not Range(high="", high_open=True).empty
    assert not Range().empty


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (Range(), "all"),
        (Range(low="a"), ">= a"),
        (Range(low="a", low_open=True), "> a"),
        (Range(high="b"), "<= b"),
        (Range(high="b", high_open=True), "< b"),
        (Range("a", "b", low_open=True), "> a and <= b"),
        (Range("a", "b", high_open=True), ">= a and < b"),
    ],
)
def test_a_range_prints_as_comparisons(span: Range, text: str) -> None:
    assert str(span) == text


@MORE
@given(ranges, ranges)
def test_an_intersection_holds_the_keys_of_both_ranges(one: Range, other: Range) -> None:
    both = one & other
    for key in ALL_KEYS[1:]:
        assert within(both, key) == (within(one, key) and within(other, key))


@MORE
@given(ranges, st.sampled_from(["", "a#", "#"]))
def test_a_prefixed_range_holds_no_key_of_another_prefix(span: Range, prefix: str) -> None:
    keys = span.under(prefix)
    for position in ALL_KEYS[1:]:
        assert within(keys, prefix + position) == within(span, position)
    if prefix:
        assert not any(within(keys, other) for other in ("a", "a!", "a$x", "!", "$", "\0"))
