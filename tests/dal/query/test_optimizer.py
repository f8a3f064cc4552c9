from dataclasses import dataclass, replace
from itertools import combinations

import pytest

from dal.entities.comment import COMMENT
from dal.entities.order import OPEN_SHARDS, ORDER
from dal.entities.organization import USERS_OF_ORGANIZATION
from dal.entities.ticket import TICKETS_OF_USER
from dal.errors import NoIndexError, TooManySegmentsError
from dal.limits import MAX_SEGMENTS
from dal.model import RATINGS
from dal.query.plan import Plan, Segment
from dal.query.query import Filters, Query
from dal.repositories.comments import Selection
from dal.statistics.counts import CommentStatistics, RatingCounts
from dal.statistics.row_locations import RowLocations
from dal.statistics.table_statistics import ProductStatistics
from dal.table.index import BY_DATE, Index
from dal.table.ranges import Range
from tests.dal.planning import plan

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
    return plan(COMMENT.indexes, selection.query(), SPAN, descending=descending, limit=limit)


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
    with pytest.raises(NoIndexError, match="No index answers a filter"):
        plan(COMMENT.indexes, Query("?", frozen), SPAN, descending=True, limit=20)


def test_the_first_index_with_the_right_partitions_is_taken() -> None:
    twin = replace(COMMENT.indexes[0], name="twin")
    query = Selection("42").query()
    whole = plan([twin, *COMMENT.indexes], query, SPAN, descending=True, limit=1)
    assert whole.index is twin


def ordered(query: Query, span: Range = SPAN) -> Plan:
    return plan(ORDER.indexes, query, span, descending=True, limit=20)


def wanted(**filters: str) -> Filters:
    return {field: frozenset(values.split()) for field, values in filters.items()}


@pytest.mark.parametrize(
    ("filters", "index", "segments"),
    [
        (wanted(user="ana"), "byDate", [("USER#ana", "")]),
        (wanted(user="ana", status="SHIPPED"), "byStatusDate", [("USER#ana", "SHIPPED#")]),
        (
            wanted(user="ana", status="SHIPPED CANCELLED"),
            "byStatusDate",
            [("USER#ana", "CANCELLED#"), ("USER#ana", "SHIPPED#")],
        ),
        (wanted(user="ana", status=""), "byStatusDate", []),
        (wanted(order="7"), "GSI1", [("ORDER#7", "ORDER#")]),
        (
            wanted(status="PLACED"),
            "openOrders",
            [(f"PLACED#{shard}", "") for shard in range(OPEN_SHARDS)],
        ),
    ],
)
def test_prefixes_labels_and_shards_make_segments(
    filters: Filters, index: str, segments: list[tuple[str, str]]
) -> None:
    whole = ordered(Query("A", filters))
    assert whole.index.name == index
    assert [(one.partition, one.prefix) for one in whole.segments] == segments
    assert {one.range for one in whole.segments} <= {SPAN}
    assert {one.limit for one in whole.segments} <= ({20} if len(segments) < OPEN_SHARDS else {10})


@pytest.mark.parametrize("filters", [wanted(status="SHIPPED"), wanted(status="PLACED SHIPPED"), {}])
def test_a_sparse_index_answers_only_for_what_it_holds(filters: Filters) -> None:
    with pytest.raises(NoIndexError):
        ordered(Query("A5", filters))


def test_a_prefix_alone_selects_no_range() -> None:
    index = Index("x", "P", "S", "USER", (), BY_DATE, ("status",))
    with pytest.raises(NoIndexError):
        plan([index], Query("?", {}), SPAN, descending=True, limit=1)


def test_a_query_is_bounded_to_its_positions() -> None:
    within = Range(low="2020-06", high="2030")
    whole = ordered(Query("A6", wanted(user="ana", status="SHIPPED"), within))
    (segment,) = whole.segments
    assert segment.range == Range("2020-06", "2021", high_open=True)
    assert segment.sort_keys == Range("SHIPPED#2020-06", "SHIPPED#2021", high_open=True)


def test_a_shard_is_asked_for_its_share_with_a_margin() -> None:
    for limit in range(200):
        whole = plan(
            ORDER.indexes, Query("A5", wanted(status="PLACED")), SPAN, descending=True, limit=limit
        )
        (asked,) = {one.limit for one in whole.segments}
        assert limit / OPEN_SHARDS <= asked <= limit
        assert asked < limit / 2 or limit < 25
        assert {one.share for one in whole.segments} == {1 / OPEN_SHARDS}


def test_the_range_of_a_prefix_is_closed_at_both_ends() -> None:
    keys = Segment("P", Range(), 1, "SHIPPED#").sort_keys
    assert keys == Range("SHIPPED#", "SHIPPED#\U0010ffff")
    assert Segment("P", Range(), 1).sort_keys == Range()


def test_consistent_reads_use_only_indexes_that_offer_them() -> None:
    assert ordered(Query("A2", wanted(user="ana"), consistent=True)).consistent
    assert not ordered(Query("A3", wanted(order="7"))).consistent
    with pytest.raises(NoIndexError):
        ordered(Query("A3", wanted(order="7"), consistent=True))


def _wide(languages: int, ratings: int | None) -> Selection:
    return Selection(
        "42",
        None if ratings is None else frozenset(range(1, ratings + 1)),
        frozenset(f"l{number:02}" for number in range(languages)),
    )


@pytest.mark.parametrize(
    ("index", "span", "keys", "head", "position"),
    [
        (USERS_OF_ORGANIZATION, Range(), ("METADATA#", "USER#\U0010ffff"), "METADATA#acme", ""),
        (
            USERS_OF_ORGANIZATION,
            Range(high="bob", high_open=True),
            ("METADATA#", "USER#bob"),
            "METADATA#acme",
            "",
        ),
        (
            TICKETS_OF_USER,
            Range(low="2020", low_open=True),
            ("TICKET#2020", "USER#\U0010ffff"),
            "USER#bob",
            "\U0010ffff",
        ),
    ],
)
def test_the_item_at_the_beginning_of_a_list_is_read_with_its_rows(
    index: Index, span: Range, keys: tuple[str, str], head: str, position: str
) -> None:
    filters = {field: frozenset({"x"}) for field in index.partition}
    for headed in (True, False):
        query = Query("T", filters, head=headed)
        whole = plan([index], query, span, descending=index is TICKETS_OF_USER, limit=5)
        (segment,) = whole.segments
        assert ((segment.sort_keys.low, segment.sort_keys.high) == keys) is headed
        assert segment.position_of(f"{index.label}2021#7") == "2021#7"
    beside = segment._replace(head=index.head)
    assert beside.position_of(head) == position
    rows = [beside.position_of(f"{index.label}{one}") for one in ("0", "2021#7", "é")]
    assert sorted([*rows, position]).index(position) in {0, 3}


@dataclass
class Counted:
    """Statistics by counts alone: evenly over five ratings."""

    rows: int = 100_000
    row_bytes: float = 400.0

    def cardinality(self, filters: Filters) -> int:
        return self.rows * len(filters.get("rating", RATINGS)) // len(RATINGS)

    def fraction(self, within: Range) -> float:
        return 1.0

    def located(self, *_: object, **__: object) -> None:
        return None


def over_shards(shards: int, ratings: set[int] | None) -> Plan:
    indexes = [replace(index, shards=shards) for index in COMMENT.indexes]
    chosen = None if ratings is None else frozenset(ratings)
    query = Selection("42", chosen).query()
    return plan(indexes, query, Range(), descending=True, limit=20, statistics=Counted())


def test_the_cost_of_shards_is_counted() -> None:
    plans = {shards: over_shards(shards, None) for shards in (1, 4, 16)}
    assert [len(one.segments) for one in plans.values()] == [1, 4, 16]
    costs = [one.capacity or 0 for one in plans.values()]
    assert costs == sorted(costs)
    assert costs[-1] >= 16 * 0.5
    assert all(one.limit < 20 for one in plans[4].segments)
    assert sum(one.share or 0 for one in plans[16].segments) == pytest.approx(1)


def test_over_many_shards_a_coarser_index_is_cheaper() -> None:
    """Sixteen Queries that throw a part away, instead of sixteen for each rating."""
    assert over_shards(1, {1, 3}).index.name == "byRating"
    spread = over_shards(16, {1, 3})
    assert spread.index.name == "all"
    assert len(spread.segments) == 16
    assert over_shards(16, {1}).index.name == "byRating"


@pytest.mark.parametrize("row_bytes", [200, 400, 900])
@pytest.mark.parametrize(
    "held", [(80, 50, 70, 200, 600), (200,) * 5, (250, 30, 30, 90, 600)], ids=str
)
def test_where_a_filter_covers_most_of_a_product_one_partition_is_read(
    held: tuple[int, ...], row_bytes: int
) -> None:
    """While indexes lag, a comment that moves between these ratings is not missed then."""
    counts = RatingCounts(held)
    known = ProductStatistics(CommentStatistics(counts, {"en": counts}), row_bytes, RowLocations())
    covering = 0
    for size in range(2, 5):
        for ratings in combinations(RATINGS, size):
            query = Selection("42", frozenset(ratings)).query()
            found = plan(
                COMMENT.indexes, query, Range(), descending=True, limit=20, statistics=known
            )
            if counts.of(ratings) >= 0.75 * counts.of():
                covering += 1
                assert found.index.name == "all"
    assert covering > 3
