"""Row locations, compared with the list itself, even while the list changes."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.query.plan import EqualityKey, Filters, equality_keys
from dal.query.row_locations import (
    MOST,
    MOST_VALUES,
    LocatedPage,
    LocatedRow,
    RowLocations,
)
from dal.table.ranges import Range

RATINGS, LANGUAGES = "123", ("de", "en")
POSITIONS = [f"{number:02}" for number in range(30)]


def key(**values: str) -> EqualityKey:
    return frozenset(values.items())


def row(position: str, rating: str, language: str = "en") -> LocatedRow:
    return LocatedRow(position, key(rating=rating, language=language), 100 + 2 ** int(position[:2]))


LIST = [row(one, RATINGS[int(one) % 3], LANGUAGES[int(one) % 5 > 1]) for one in POSITIONS]

keys = st.builds(
    lambda rating, language: frozenset(
        (name, value) for name, value in (("rating", rating), ("language", language)) if value
    ),
    st.sampled_from(["", *RATINGS]),
    st.sampled_from(["", *LANGUAGES]),
)
gaps = st.none() | st.sampled_from(POSITIONS).map(lambda one: one + "5")
bounds = gaps | st.sampled_from(POSITIONS)
spans = st.builds(Range, bounds, bounds, st.booleans(), st.booleans()).filter(
    lambda one: not one.empty
)
parts = st.builds(Range, gaps, gaps).filter(lambda one: not one.empty)
"""Ranges that were read. No row is between adjacent ranges."""
filters = st.fixed_dictionaries(
    {},
    optional={
        "rating": st.frozensets(st.sampled_from(RATINGS)),
        "language": st.frozensets(st.sampled_from(LANGUAGES)),
    },
)


def holds(span: Range, position: str) -> bool:
    above = span.low is None or (position > span.low if span.low_open else position >= span.low)
    return above and (
        span.high is None or (position < span.high if span.high_open else position <= span.high)
    )


def passing(
    rows: Sequence[LocatedRow], wanted: Filters, span: Range, *, descending: bool
) -> list[LocatedRow]:
    return sorted(
        (
            one
            for one in rows
            if holds(span, one.position)
            and all(dict(one.values)[name] in values for name, values in wanted.items())
        ),
        reverse=descending,
    )


def found(rows: Sequence[LocatedRow]) -> tuple[list[str], list[int]]:
    """Return the positions and sizes of rows, as ``RowLocations`` returns them."""
    return [one.position for one in rows], [one.size for one in rows]


def page_of(
    locations: RowLocations, wanted: Filters, span: Range, *, descending: bool, count: int
) -> LocatedPage | None:
    keys = list(equality_keys(wanted))
    return locations.page(keys, span, descending=descending, count=count)


def note(locations: RowLocations, rows: Sequence[LocatedRow], of: EqualityKey, span: Range) -> None:
    """Remember the rows that a Query of a range returned."""
    locations.note(
        of, span, [one for one in rows if of <= one.values and holds(span, one.position)]
    )


@given(
    notes=st.lists(st.tuples(keys, parts), max_size=12),
    wanted=filters,
    span=spans,
    descending=st.booleans(),
    count=st.integers(0, 8),
)
def test_the_remembered_rows_of_an_unchanged_list_are_its_rows(
    notes: list[tuple[EqualityKey, Range]],
    wanted: Filters,
    span: Range,
    descending: bool,
    count: int,
) -> None:
    locations = RowLocations()
    for of, part in notes:
        note(locations, LIST, of, part)
    page = page_of(locations, wanted, span, descending=descending, count=count)
    if page is not None:
        rows = passing(LIST, wanted, span, descending=descending)[:count]
        assert page.rows == len(rows)
        assert page.until == (rows[-1].position if len(rows) == count > 0 else None)
        assert page.span == (
            span if page.until is None else span.until(page.until, descending=descending)
        )
    for of, _ in notes:
        held = [one for one in LIST if of <= one.values]
        among = locations.among(of, span)
        assert among is None or among == found(passing(held, {}, span, descending=False))
        if page is not None and count:
            assert page.matching(of) == sum(of <= one.values for one in rows)
            on_the_way = passing(held, {}, page.span, descending=False)
            several = page.among(of)
            assert several is None or several == (
                len(on_the_way),
                sum(one.size for one in on_the_way),
            )


@given(spans=st.permutations([("", "07"), ("07", "12"), ("12", "20"), ("20", "\U0010ffff")]))
@pytest.mark.parametrize("descending", [False, True])
def test_parts_that_were_read_in_any_order_are_joined(
    spans: list[tuple[str, str]], descending: bool
) -> None:
    locations = RowLocations()
    for low, high in spans:
        assert page_of(locations, {}, Range(), descending=descending, count=30) is None
        note(locations, LIST, key(), Range(low or None, high, low_open=True))
    page = page_of(locations, {}, Range(), descending=descending, count=99)
    assert page is not None
    assert (page.rows, page.until) == (len(LIST), None)


def test_a_page_is_remembered_if_all_its_rows_are_remembered() -> None:
    locations = RowLocations()
    note(locations, LIST, key(rating="2"), Range(low="10"))
    note(locations, LIST, key(rating="3"), Range(low="20"))
    wanted = {"rating": frozenset("23")}
    page = page_of(locations, wanted, Range(), descending=True, count=6)
    assert page is not None
    assert (page.rows, page.until, page.span) == (6, "22", Range(low="22"))
    assert page_of(locations, wanted, Range(), descending=True, count=7) is not None
    assert page_of(locations, wanted, Range(), descending=True, count=8) is None
    assert page_of(locations, wanted, Range(high="195"), descending=True, count=1) is None
    assert page_of(locations, wanted, Range(low="20"), descending=False, count=2) is not None
    assert page_of(locations, wanted, Range(low="19"), descending=False, count=2) is None
    assert page_of(locations, {}, Range(), descending=True, count=1) is None


def test_rows_read_by_a_key_are_remembered_for_its_finer_keys_only() -> None:
    locations = RowLocations()
    note(locations, LIST, key(language="en"), Range())
    assert locations.among(key(language="en", rating="1"), Range()) is not None
    assert locations.among(key(rating="1"), Range()) is None
    assert locations.among(key(), Range()) is None


def test_a_later_read_replaces_only_the_rows_in_its_range() -> None:
    locations = RowLocations()
    note(locations, LIST, key(), Range())
    changed = [row("05", "2"), row("055", "2"), *(one for one in LIST if one.position != "07")]
    note(locations, changed, key(rating="2"), Range(low="05", high="09", high_open=True))
    among = locations.among(key(), Range(low="05", high="10"))
    assert among is not None
    # The row 05 stays with its old rating 3 until that rating's partition is read again.
    assert among[0] == ["05", "05", "055", "06", "08", "09", "10"]


def test_the_last_page_of_a_list_that_is_remembered_to_its_end_may_be_short() -> None:
    locations = RowLocations()
    note(locations, LIST, key(), Range(high="03"))
    page = page_of(locations, {}, Range(high="02"), descending=True, count=20)
    assert page is not None
    assert (page.rows, page.until) == (3, None)
    assert page.among(key()) == (3, sum(one.size for one in LIST[:3]))
    nothing = page_of(locations, {"rating": frozenset()}, Range(), descending=True, count=20)
    assert nothing is not None
    assert nothing.rows == 0


def test_the_number_of_remembered_rows_is_limited() -> None:
    locations = RowLocations()
    many = [row(f"{number:05}", "1") for number in range(MOST)]
    locations.note(key(), Range(high="5"), many)
    assert locations.among(key(), Range(high="5")) == found(many)
    locations.note(key(), Range(low="8", high="9"), [])
    assert locations.among(key(), Range(low="8", high="9")) == ([], [])
    assert locations.among(key(), Range(high="5")) is None
    for number in range(MOST + 2):
        locations.note(key(), Range(f"7{number:05}", f"7{number:05}"), [])
    assert locations.among(key(), Range("700000", "700000")) is None


def test_the_number_of_different_values_in_a_list_is_limited() -> None:
    locations = RowLocations()
    many = [row(f"{number:05}", "1", f"{number}") for number in range(MOST_VALUES)]
    locations.note(key(), Range(high="5"), many)
    assert locations.among(key(), Range(high="5")) == found(many)
    assert locations.among(key(language="7"), Range(high="5")) == found(many[7:8])
    one_more = [*many, row("1", "2")]
    locations.note(key(), Range(), one_more)
    assert locations.among(key(), Range()) is None
    locations.note(key(rating="2"), Range(), one_more[-1:])
    assert locations.among(key(rating="2"), Range()) == found(one_more[-1:])
    assert locations.among(key(), Range(high="5")) is None
