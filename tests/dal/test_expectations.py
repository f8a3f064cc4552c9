"""Plans of pages whose rows were read before: they end where the page does."""

from dataclasses import dataclass, field

import pytest

from dal.comments import Selection
from dal.filters import Filters, Kind
from dal.indexes import COMMENT_INDEXES
from dal.planner import plan
from dal.plans import Plan
from dal.positions import UNBOUNDED, Range
from dal.timelines import Seen, Timeline

RATINGS = (1, 3, 5, 3)
"""Over and over, in a list of 100 rows."""


def kind(*ratings: int) -> Kind:
    return frozenset([("product", "42"), *(("rating", str(rating)) for rating in ratings)])


@dataclass
class KnownList:
    """A profile that counts a list, and remembers what of it was read."""

    row_bytes: float = 1_000.0
    proves_absence: bool = False
    timeline: Timeline = field(default_factory=Timeline)

    @property
    def rows(self) -> list[Seen]:
        size = int(self.row_bytes)
        return [Seen(f"{place:02}", kind(RATINGS[place % 4]), size) for place in range(100)]

    def count(self, filters: Filters) -> int:
        return sum(
            all(dict(row.kind)[name] in wanted for name, wanted in filters.items())
            for row in self.rows
        )

    def reading(self, *kinds: Kind) -> "KnownList":
        for one in kinds:
            self.timeline.note(one, UNBOUNDED, [row for row in self.rows if one <= row.kind])
        return self


def planned(
    profile: KnownList, *ratings: int, span: Range = UNBOUNDED, descending: bool = True
) -> Plan:
    query = Selection("42", frozenset(ratings)).query()
    return plan(COMMENT_INDEXES, query, span, descending=descending, limit=10, profile=profile)


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("read", [[kind()], [kind(1), kind(5)]], ids=["all", "each"])
def test_a_remembered_page_is_read_to_its_last_row(read: list[Kind], *, descending: bool) -> None:
    whole = planned(KnownList().reading(*read), 1, 5, descending=descending)
    bound = Range(low="80") if descending else Range(high="18")
    assert {segment.range for segment in whole.segments} == {bound}
    assert whole.until == (bound.low or bound.high)
    assert whole.index.name == "byRating"
    # Five rows of 1,000 bytes in each: two started blocks. More would have come since, at most ten.
    assert [segment.limit for segment in whole.segments] == [15, 15]
    assert whole.capacity == 2.0


def test_the_page_goes_on_from_a_position_and_within_a_range() -> None:
    span = Range(low="41", high="50", high_open=True)
    whole = planned(KnownList().reading(kind()), 1, 5, span=span)
    assert whole.until is None
    assert {segment.range for segment in whole.segments} == {span}
    assert whole.capacity == 1.0


@pytest.mark.parametrize(("read", "rows"), [([kind()], 13), ([kind(1), kind(3)], 14)])
def test_rows_in_between_that_were_never_read_are_as_frequent_as_everywhere(
    read: list[Kind], rows: int
) -> None:
    whole = planned(KnownList(row_bytes=100.0).reading(*read), 1, 3)
    assert (whole.index.name, list(whole.residual)) == ("all", ["rating"])
    assert [segment.limit for segment in whole.segments] == [rows + 10]
    assert whole.passing == 10 / rows
    assert whole.until == "87"


@pytest.mark.parametrize("read", [[], [kind(1)], [kind(3), kind(5)]])
def test_a_page_that_is_remembered_in_part_is_planned_by_counts(read: list[Kind]) -> None:
    by_counts = planned(KnownList(), 1, 5)
    assert by_counts.until is None
    assert planned(KnownList().reading(*read), 1, 5) == by_counts


@pytest.mark.parametrize("proved", [True, False])
def test_what_is_remembered_proves_no_absence(*, proved: bool) -> None:
    whole = planned(KnownList(proves_absence=proved).reading(kind()), 1, 2)
    assert whole.index.name == "byRating"
    assert [segment.skipped for segment in whole.segments] == [False, proved]
    assert (whole.doubtful, whole.capacity) == ((0, 1.5) if proved else (1, 2.0))


def test_a_page_that_was_empty_is_read_with_patience() -> None:
    whole = planned(KnownList(row_bytes=10.0).reading(kind()), 2, 4)
    assert all(segment.limit > 0 for segment in whole.segments)
    assert whole.patience(10) > 0
    assert whole.until is None
