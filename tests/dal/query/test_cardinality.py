"""Plans of pages whose rows were read before: they end where the page does."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from dal.entities.comment import COMMENT
from dal.query.optimizer import prove, worth_proving
from dal.query.plan import EqualityKey, Filters, Plan
from dal.query.protocols import LocatedPage
from dal.repositories.comments import Selection
from dal.statistics.row_locations import LocatedRow, RowLocations
from dal.table.ranges import UNBOUNDED, Range
from tests.dal.planning import plan

RATINGS = (1, 3, 5, 3)
"""Over and over, in a list of 100 rows."""


def key(*ratings: int) -> EqualityKey:
    return frozenset([("product", "42"), *(("rating", str(rating)) for rating in ratings)])


@dataclass
class KnownList:
    """A statistics that counts a list, and remembers what of it was read."""

    row_bytes: float = 1_000.0
    locations: RowLocations = field(default_factory=RowLocations)

    @property
    def rows(self) -> list[LocatedRow]:
        size = int(self.row_bytes)
        return [LocatedRow(f"{place:02}", key(RATINGS[place % 4]), size) for place in range(100)]

    def cardinality(self, filters: Filters) -> int:
        return sum(
            all(dict(row.values)[name] in wanted for name, wanted in filters.items())
            for row in self.rows
        )

    def fraction(self, within: Range) -> float:
        return 1.0

    def located(
        self, keys: Sequence[EqualityKey], span: Range, *, descending: bool, count: int
    ) -> LocatedPage | None:
        return self.locations.page(keys, span, descending=descending, count=count)

    def reading(self, *keys: EqualityKey) -> "KnownList":
        for one in keys:
            self.locations.note(one, UNBOUNDED, [row for row in self.rows if one <= row.values])
        return self


def planned(
    statistics: KnownList, *ratings: int, span: Range = UNBOUNDED, descending: bool = True
) -> Plan:
    query = Selection("42", frozenset(ratings)).query()
    return plan(
        COMMENT.indexes, query, span, descending=descending, limit=10, statistics=statistics
    )


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("read", [[key()], [key(1), key(5)]], ids=["all", "each"])
def test_a_remembered_page_is_read_to_its_last_row(
    read: list[EqualityKey], *, descending: bool
) -> None:
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
    whole = planned(KnownList().reading(key()), 1, 5, span=span)
    assert whole.until is None
    assert {segment.range for segment in whole.segments} == {span}
    assert whole.capacity == 1.0


@pytest.mark.parametrize(("read", "rows"), [([key()], 13), ([key(1), key(3)], 14)])
def test_rows_in_between_that_were_never_read_are_as_frequent_as_everywhere(
    read: list[EqualityKey], rows: int
) -> None:
    whole = planned(KnownList(row_bytes=100.0).reading(*read), 1, 3)
    assert (whole.index.name, list(whole.residual)) == ("all", ["rating"])
    assert [segment.limit for segment in whole.segments] == [rows + 10]
    assert whole.selectivity == 10 / rows
    assert whole.until == "87"


def test_at_the_end_of_a_list_rows_are_read_that_were_never_seen() -> None:
    end = Range(high="00", high_open=True)
    whole = planned(KnownList(row_bytes=10_000.0).reading(key(1), key(5)), 1, 5, span=end)
    assert (whole.index.name, whole.capacity) == ("byRating", 1.0)


@pytest.mark.parametrize("read", [[], [key(1)], [key(3), key(5)]])
def test_a_page_that_is_remembered_in_part_is_planned_by_counts(read: list[EqualityKey]) -> None:
    by_counts = planned(KnownList(), 1, 5)
    assert by_counts.until is None
    assert planned(KnownList().reading(*read), 1, 5) == by_counts


@pytest.mark.parametrize("proved", [True, False])
def test_what_is_remembered_proves_no_absence(*, proved: bool) -> None:
    whole = planned(KnownList().reading(key()), 1, 2)
    assert whole.index.name == "byRating"
    assert not any(segment.skipped for segment in whole.segments)
    assert (whole.unproven, whole.capacity) == (1, 2.0)
    proven = prove(whole, [key(2)] if proved else [])
    assert [segment.skipped for segment in proven.segments] == [False, proved]
    assert proven.capacity == (1.5 if proved else 2.0)


def test_a_proof_is_worth_its_price_for_two_segments() -> None:
    known = KnownList().reading(key())
    assert not worth_proving(planned(known, 1, 2))
    assert worth_proving(planned(known, 2, 4))


def test_a_page_that_was_empty_is_read_to_its_end() -> None:
    whole = planned(KnownList(row_bytes=10.0).reading(key()), 2, 4)
    assert all(segment.limit > 0 for segment in whole.segments)
    assert whole.until is None
