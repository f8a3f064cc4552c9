"""Items of cases have everything that a case has."""

from hypothesis import given
from hypothesis import strategies as st

from features.moderation.entity import CASE, case_in
from features.moderation.model import Case, Decision
from tests.strategies import MORE, identifiers, instants

decisions = st.builds(
    Decision,
    by=st.none() | identifiers,
    at=instants,
    seen=instants,
    reason=st.none() | st.just("Spam"),
)
cases = st.builds(
    Case,
    comment_id=identifiers,
    opened_at=st.none() | instants,
    decision=st.none() | decisions,
    hidden=st.booleans(),
    reported_at=st.none() | instants,
)


@MORE
@given(cases)
def test_an_item_has_the_whole_case(case: Case) -> None:
    assert case_in(CASE.encode(case)) == case
