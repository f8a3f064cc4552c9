"""The specification's algorithm, against a list of which the edges are taken off one by one."""

from hypothesis import given
from hypothesis import strategies as st

from tools.conformance.algorithm import Ask, edges_to_return, has_next_page, has_previous_page

LENGTH = 6
SIZES = st.none() | st.integers(0, LENGTH + 1)
PLACES = st.none() | st.integers(0, LENGTH - 1)
ASKS = st.builds(Ask, first=SIZES, after=PLACES, last=SIZES, before=PLACES).filter(
    lambda ask: ask.after is None or ask.before is None or ask.after < ask.before
)


@given(ASKS)
def test_edges_are_what_is_left(ask: Ask) -> None:
    edges = list(range(LENGTH))
    if ask.after is not None:
        edges = edges[edges.index(ask.after) + 1 :]
    if ask.before is not None:
        edges = edges[: edges.index(ask.before)]
    while ask.first is not None and len(edges) > ask.first:
        edges.pop()
    while ask.last is not None and len(edges) > ask.last:
        edges.pop(0)
    assert list(edges_to_return(ask, LENGTH)) == edges


@given(ASKS)
def test_a_flag_is_true_only_where_rows_lie(ask: Ask) -> None:
    shown = edges_to_return(ask, LENGTH)
    for rule, around in (
        (has_next_page(ask, LENGTH), shown.stop < LENGTH),
        (has_previous_page(ask, LENGTH), shown.start > 0),
    ):
        assert around in rule.allowed
        assert rule.exact in {None, around}


def test_the_flag_of_the_own_direction_is_said() -> None:
    assert has_next_page(Ask(first=2), LENGTH).allowed == {True}
    assert has_next_page(Ask(first=LENGTH), LENGTH).allowed == {False}
    assert has_previous_page(Ask(last=2), LENGTH).allowed == {True}
    assert has_previous_page(Ask(first=2), LENGTH).allowed == {False}
    assert has_previous_page(Ask(first=2, after=3), LENGTH).allowed == {True, False}
