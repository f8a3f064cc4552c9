"""The estimated cost of reads, and the limit of a segment."""

import random
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.query import cost
from dal.query.cost import BLOCK, best_estimate, expected_capacity, least_cost, spread


@pytest.mark.parametrize(("rows", "blocks"), [(1, 1), (20, 3), (2_000, 201)])
def test_a_query_costs_half_a_unit_for_each_started_block(rows: int, blocks: int) -> None:
    """Ten rows fill a block. A Query whose rows fill blocks exactly may need one more block."""
    assert expected_capacity(rows, BLOCK / 10) == pytest.approx(0.5 * blocks, abs=0.3)


@given(st.integers(1, 400), st.floats(50, 5_000))
def test_more_rows_never_cost_less(rows: int, row_bytes: float) -> None:
    assert expected_capacity(rows + 1, row_bytes) >= expected_capacity(rows, row_bytes)


def test_the_limit_of_a_pages_only_segment_is_the_page() -> None:
    assert best_estimate(1.0, 1.0, 20, 300.0, most=5_000).limit == 20


@given(st.floats(0.001, 1.0), st.integers(1, 101), st.integers(0, 200))
def test_no_limit_is_much_larger_than_the_expected_number_of_rows(
    share: float, wanted: int, most: int
) -> None:
    assert 1 <= best_estimate(share, 1.0, wanted, 300.0, most=most).limit <= most + 1


def test_few_limits_are_compared_even_for_rare_rows() -> None:
    """Planning takes milliseconds even if a page needs 20 of 200,000 rows."""
    assert best_estimate(1.0, 0.0001, 20, 300.0, most=1_000_000).limit > 10_000
    assert len(cost._limits(1.0, 0.0001, 20, 1_000_000)) <= 64


@given(st.floats(0.001, 1.0), st.floats(0.001, 1.0), st.integers(1, 101), st.floats(20, 5_000))
def test_the_cheapest_limit_is_chosen(
    share: float, residual: float, wanted: int, row_bytes: float
) -> None:
    most = 500
    costs = [
        weight
        + expected_capacity(min(limit, most), row_bytes)
        + dry * expected_capacity(missing, row_bytes)
        for weight, limit, dry, missing in cost._limits(share, residual, wanted, most)
    ]
    assert best_estimate(share, residual, wanted, row_bytes, most).cost == pytest.approx(min(costs))


@given(
    st.lists(st.integers(0, 3_000), min_size=1, max_size=8),
    st.floats(0.001, 1.0),
    st.integers(1, 101),
    st.floats(20, 5_000),
)
def test_no_plan_costs_less_than_the_lower_bound(
    counts: list[int], residual: float, wanted: int, row_bytes: float
) -> None:
    total = max(1, sum(counts))
    reads = [
        best_estimate(count / total, residual, wanted, row_bytes, most=count) for count in counts
    ]
    least = least_cost(len(counts), min(total, wanted / residual), row_bytes)
    assert sum(read.cost for read in reads) >= least * 0.999


@pytest.mark.parametrize(("share", "residual"), [(0.3, 1.0), (1.0, 0.4), (0.5, 0.7)])
def test_the_predicted_spread_equals_that_of_random_pages(share: float, residual: float) -> None:
    chance = random.Random(1)
    drawn = [_rows_of_a_page(chance, share, residual) for _ in range(4_000)]
    mean, deviation = spread(20, share, residual)
    assert fmean(drawn) == pytest.approx(mean, rel=0.03)
    assert pstdev(drawn) == pytest.approx(deviation, rel=0.06)


def _rows_of_a_page(chance: random.Random, share: float, residual: float) -> int:
    """Return the number of rows to read from a segment for a page of 20 rows from all segments."""
    mine = passed = 0
    while passed < 20:
        mine += chance.random() < share
        passed += chance.random() < residual
    return mine
