from dataclasses import replace
from itertools import combinations

import pytest

from dal.counts.counts import CommentStatistics, RatingCounts
from dal.entities.comment import COMMENT
from dal.entities.organization import USERS_OF_ORGANIZATION
from dal.entities.ticket import TICKETS_OF_USER
from dal.model import RATINGS
from dal.query.errors import NoIndexError, TooManySegmentsError
from dal.query.optimizer import MAX_DROPPED, TableStatistics, prove, worth_proving
from dal.query.plan import MAX_SEGMENTS, Plan, Query, Segment
from dal.repositories.comments import Selection
from dal.table.index import BY_DATE, Index
from dal.table.ranges import Range
from tests.dal.planning import plan

SPAN = Range(low="2020", high="2021", high_open=True)


def planned(selection: Selection) -> Plan:
    return plan(COMMENT.indexes, selection.query(), SPAN, descending=True, limit=20)


@pytest.mark.parametrize(("languages", "ratings"), [(60, None), (12, 5), (15, 4), (60, 1)])
def test_a_page_may_read_sixty_partitions(languages: int, ratings: int | None) -> None:
    # All five ratings filter nothing, so each language needs only one partition.
    wanted = 12 if ratings == 5 else MAX_SEGMENTS
    assert len(planned(_wide(languages, ratings)).segments) == wanted


@pytest.mark.parametrize(
    ("languages", "ratings", "index"),
    [(61, None, "all"), (16, 4, "byRating"), (61, 1, "byRating"), (31, 2, "byRating")],
)
def test_a_filter_of_more_partitions_reads_a_coarser_index_and_drops_some_rows(
    languages: int, ratings: int | None, index: str
) -> None:
    found = planned(_wide(languages, ratings))
    assert (found.index.name, found.discard_limit) == (index, MAX_DROPPED)


def test_more_than_sixty_products_are_too_many() -> None:
    products = frozenset(f"p{number}" for number in range(60))
    assert len(planned(Selection("p0", variants=products)).segments) == MAX_SEGMENTS
    with pytest.raises(TooManySegmentsError, match=r" 61 .* 60"):
        planned(Selection("p60", variants=products))


def test_of_indexes_with_the_same_partitions_the_first_is_chosen() -> None:
    twin = replace(COMMENT.indexes[0], name="twin")
    query = Selection("42").query()
    whole = plan([twin, *COMMENT.indexes], query, SPAN, descending=True, limit=1)
    assert whole.index is twin


def test_an_index_without_partition_fields_cannot_answer_a_query_without_filters() -> None:
    index = Index("x", "P", "S", "USER", (), BY_DATE, ("status",))
    with pytest.raises(NoIndexError):
        plan([index], Query("?", {}), SPAN, descending=True, limit=1)


def _wide(languages: int, ratings: int | None) -> Selection:
    return Selection(
        "42",
        None if ratings is None else frozenset(range(1, ratings + 1)),
        frozenset(f"l{number:02}" for number in range(languages)),
    )


@pytest.mark.parametrize(
    ("index", "head", "position"),
    [(USERS_OF_ORGANIZATION, "METADATA#acme", ""), (TICKETS_OF_USER, "USER#bob", "\U0010ffff")],
)
def test_the_head_item_is_below_or_above_all_rows(index: Index, head: str, position: str) -> None:
    segment = Segment("P", Range(), 5, index.label, head=index.head)
    assert segment.position_of(head) == position
    assert segment.position_of(f"{index.label}2021#7") == "2021#7"


def known(held: tuple[int, ...], row_bytes: float) -> TableStatistics:
    counts = RatingCounts(held)
    return TableStatistics(CommentStatistics(counts, {"en": counts}).cardinality, row_bytes)


@pytest.mark.parametrize("row_bytes", [200, 400, 900])
@pytest.mark.parametrize(
    "held", [(80, 50, 70, 200, 600), (200,) * 5, (250, 30, 30, 90, 600)], ids=str
)
def test_a_filter_that_most_rows_pass_reads_one_partition(
    held: tuple[int, ...], row_bytes: int
) -> None:
    """So while indexes lag, the page does not miss a comment that moves between these ratings."""
    counts = RatingCounts(held)
    statistics = known(held, row_bytes)
    covering = 0
    for size in range(2, 5):
        for ratings in combinations(RATINGS, size):
            query = Selection("42", frozenset(ratings)).query()
            found = plan(
                COMMENT.indexes, query, Range(), descending=True, limit=20, statistics=statistics
            )
            if counts.of(ratings) >= 0.75 * counts.of():
                covering += 1
                assert found.index.name == "all"
    assert covering > 3


def test_a_proof_skips_empty_segments_and_pays_off_for_two() -> None:
    one, two = (
        plan(
            COMMENT.indexes,
            Selection("42", ratings).query(),
            Range(),
            descending=True,
            limit=20,
            statistics=known((3, 0, 0, 200, 600), 400),
        )
        for ratings in (frozenset({1, 2}), frozenset({2, 3}))
    )
    assert [worth_proving(one), worth_proving(two)] == [False, True]
    assert prove(one, []) == one
    proven = prove(one, [segment.key for segment in one.segments if ("rating", "2") in segment.key])
    assert [segment.skipped for segment in proven.segments] == [False, True]
    assert (one.capacity, proven.capacity) == (1.0, 0.5)
