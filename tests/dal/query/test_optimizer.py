from dataclasses import replace
from itertools import combinations

import pytest

from dal.entities.comment import COMMENT
from dal.entities.organization import USERS_OF_ORGANIZATION
from dal.entities.ticket import TICKETS_OF_USER
from dal.errors import NoIndexError, TooManySegmentsError
from dal.limits import MAX_SEGMENTS
from dal.model import RATINGS
from dal.query.plan import Plan, Query, Segment
from dal.repositories.comments import Selection
from dal.statistics.counts import CommentStatistics, RatingCounts
from dal.statistics.reader import ProductStatistics
from dal.statistics.row_locations import RowLocations
from dal.table.index import BY_DATE, Index
from dal.table.ranges import Range
from tests.dal.planning import plan

SPAN = Range(low="2020", high="2021", high_open=True)


def planned(selection: Selection) -> Plan:
    return plan(COMMENT.indexes, selection.query(), SPAN, descending=True, limit=20)


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


def test_the_first_index_with_the_right_partitions_is_taken() -> None:
    twin = replace(COMMENT.indexes[0], name="twin")
    query = Selection("42").query()
    whole = plan([twin, *COMMENT.indexes], query, SPAN, descending=True, limit=1)
    assert whole.index is twin


def test_a_prefix_alone_selects_no_range() -> None:
    index = Index("x", "P", "S", "USER", (), BY_DATE, ("status",))
    with pytest.raises(NoIndexError):
        plan([index], Query("?", {}), SPAN, descending=True, limit=1)


def test_the_range_of_a_prefix_is_closed_at_both_ends() -> None:
    keys = Segment("P", Range(), 1, "SHIPPED#").sort_keys
    assert keys == Range("SHIPPED#", "SHIPPED#\U0010ffff")
    assert Segment("P", Range(), 1).sort_keys == Range()


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
def test_the_item_at_the_beginning_of_a_list_stands_at_the_end_of_its_rows(
    index: Index, head: str, position: str
) -> None:
    beside = Segment("P", Range(), 5, index.label, head=index.head)
    assert beside.position_of(head) == position
    rows = [beside.position_of(f"{index.label}{one}") for one in ("0", "2021#7", "é")]
    assert rows == ["0", "2021#7", "é"]
    assert sorted([*rows, position]).index(position) in {0, 3}
    assert beside._replace(head="").position_of(f"{index.label}2021#7") == "2021#7"


def known(held: tuple[int, ...], row_bytes: float) -> ProductStatistics:
    counts = RatingCounts(held)
    return ProductStatistics(CommentStatistics(counts, {"en": counts}), row_bytes, RowLocations())


@pytest.mark.parametrize("row_bytes", [200, 400, 900])
@pytest.mark.parametrize(
    "held", [(80, 50, 70, 200, 600), (200,) * 5, (250, 30, 30, 90, 600)], ids=str
)
def test_where_a_filter_covers_most_of_a_product_one_partition_is_read(
    held: tuple[int, ...], row_bytes: int
) -> None:
    """While indexes lag, a comment that moves between these ratings is not missed then."""
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
