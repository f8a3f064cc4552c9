from dataclasses import replace

import pytest

from dal.comments import Selection
from dal.errors import NoIndexError, TooManySegmentsError
from dal.indexes import COMMENT_INDEXES
from dal.planner import MAX_SEGMENTS, plan
from dal.plans import Plan, Query
from dal.positions import Range

SPAN = Range(low="2020", high="2021", high_open=True)

# languages, ratings -> access pattern, index, the partitions' ends
TABLE = [
    (None, None, "AP1", "all", [""]),
    (None, [4], "AP3b", "byRating", ["/4"]),
    (None, [5, 1], "AP3c", "byRating", ["/1", "/5"]),
    (None, [1, 2, 3, 4], "AP3c", "byRating", ["/1", "/2", "/3", "/4"]),
    (None, [1, 2, 3, 4, 5], "AP1", "all", [""]),
    (None, [], "AP3c", "byRating", []),
    (["en"], None, "AP2", "byLang", ["/en"]),
    (["en"], [4], "AP3a", "byLangAndRating", ["/en/4"]),
    (["en"], [5, 1], "AP3a", "byLangAndRating", ["/en/1", "/en/5"]),
    (["en"], [1, 2, 3, 4, 5], "AP2", "byLang", ["/en"]),
    (["en"], [], "AP3a", "byLangAndRating", []),
    (["en", "de"], None, "AP2 (several languages)", "byLang", ["/de", "/en"]),
    (
        ["en", "de"],
        [4],
        "AP3a (several languages)",
        "byLangAndRating",
        ["/de/4", "/en/4"],
    ),
    (
        ["en", "de"],
        [5, 1],
        "AP3a (several languages)",
        "byLangAndRating",
        ["/de/1", "/de/5", "/en/1", "/en/5"],
    ),
    (["en", "de"], [1, 2, 3, 4, 5], "AP2 (several languages)", "byLang", ["/de", "/en"]),
    (["en", "de"], [], "AP3a (several languages)", "byLangAndRating", []),
    ([], None, "AP2 (several languages)", "byLang", []),
    ([], [4], "AP3a (several languages)", "byLangAndRating", []),
    ([], [], "AP3a (several languages)", "byLangAndRating", []),
]


def chosen(values: list[int] | None) -> frozenset[int] | None:
    return None if values is None else frozenset(values)


def planned(selection: Selection, *, descending: bool = True, limit: int = 20) -> Plan:
    return plan(COMMENT_INDEXES, selection.query(), SPAN, descending=descending, limit=limit)


@pytest.mark.parametrize(("languages", "ratings", "pattern", "index", "ends"), TABLE)
def test_each_combination_of_filters_has_its_index_and_partitions(
    languages: list[str] | None,
    ratings: list[int] | None,
    pattern: str,
    index: str,
    ends: list[str],
) -> None:
    spoken = None if languages is None else frozenset(languages)
    whole = planned(Selection("42", chosen(ratings), spoken))
    assert whole.access_pattern == pattern
    assert whole.index.name == index
    assert [segment.partition for segment in whole.segments] == [f"PRODUCT#42{end}" for end in ends]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("limit", [1, 20, 102])
def test_every_segment_has_the_same_range_and_the_whole_limit(descending: bool, limit: int) -> None:
    whole = planned(Selection("42", frozenset({1, 3, 5})), descending=descending, limit=limit)
    assert whole.descending is descending
    assert {(segment.range, segment.limit) for segment in whole.segments} == {(SPAN, limit)}


def test_identifiers_are_escaped_in_partition_keys() -> None:
    (segment,) = planned(Selection("42/en#%", languages=frozenset({"de"}))).segments
    assert segment.partition == "PRODUCT#42%2Fen%23%25/de"


@pytest.mark.parametrize(("languages", "ratings"), [(60, None), (12, 5), (15, 4), (60, 1)])
def test_sixty_partitions_are_read(languages: int, ratings: int | None) -> None:
    # Five ratings are any rating, and so need a partition for each language alone.
    wanted = 12 if ratings == 5 else MAX_SEGMENTS
    assert len(planned(_wide(languages, ratings)).segments) == wanted


@pytest.mark.parametrize(
    ("languages", "ratings", "count"), [(61, None, 61), (16, 4, 64), (61, 1, 61), (31, 2, 62)]
)
def test_more_partitions_are_too_many(languages: int, ratings: int | None, count: int) -> None:
    with pytest.raises(TooManySegmentsError, match=rf"{count} partitions; the most is 60") as fault:
        planned(_wide(languages, ratings))
    assert "choose fewer languages or ratings" in str(fault.value)


@pytest.mark.parametrize(
    "filters",
    [{}, {"rating": {"5"}}, {"product": {"42"}, "username": {"ana"}}],
    ids=["nothing", "no product", "an unknown field"],
)
def test_a_filter_that_no_index_answers_is_refused(filters: dict[str, set[str]]) -> None:
    frozen = {field: frozenset(values) for field, values in filters.items()}
    with pytest.raises(NoIndexError, match="No index is partitioned by"):
        plan(COMMENT_INDEXES, Query("?", frozen), SPAN, descending=True, limit=20)


def test_the_first_index_with_the_right_partitions_is_taken() -> None:
    twin = replace(COMMENT_INDEXES[0], name="twin")
    query = Selection("42").query()
    whole = plan([twin, *COMMENT_INDEXES], query, SPAN, descending=True, limit=1)
    assert whole.index is twin


def _wide(languages: int, ratings: int | None) -> Selection:
    return Selection(
        "42",
        None if ratings is None else frozenset(range(1, ratings + 1)),
        frozenset(f"l{number:02}" for number in range(languages)),
    )
