"""The plans of the queries in tests/fixtures/plans."""

import pytest

from tests.dal.query.golden_plans import drawn, golden


@pytest.mark.parametrize(("query", "expected"), golden())
def test_a_query_has_the_plan_in_its_fixture(query: str, expected: str) -> None:
    assert drawn(query) == expected
