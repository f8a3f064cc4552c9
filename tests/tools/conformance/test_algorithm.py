"""The specification's algorithm for pages, compared with one that removes edges one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.conformance.algorithm import Ask, flags

LENGTH = 6
SIZES = st.none() | st.integers(0, LENGTH + 1)
PLACES = st.none() | st.integers(0, LENGTH - 1)
ASKS = st.builds(Ask, first=SIZES, after=PLACES, last=SIZES, before=PLACES).filter(
    lambda ask: ask.after is None or ask.before is None or ask.after < ask.before
)


@given(ASKS)
def test_a_page_has_the_remaining_edges(ask: Ask) -> None:
    edges = list(range(LENGTH))
    if ask.after is not None:
        edges = edges[edges.index(ask.after) + 1 :]
    if ask.before is not None:
        edges = edges[: edges.index(ask.before)]
    while ask.first is not None and len(edges) > ask.first:
        edges.pop()
    while ask.last is not None and len(edges) > ask.last:
        edges.pop(0)
    assert list(ask.edges_to_return(LENGTH)) == edges


@given(ASKS)
def test_a_flag_is_true_only_if_rows_lie_beyond_the_page(ask: Ask) -> None:
    shown, rules = ask.edges_to_return(LENGTH), flags(ask, LENGTH)
    around = {"hasNextPage": shown.stop < LENGTH, "hasPreviousPage": shown.start > 0}
    assert all(around[name] in rule.allowed for name, rule in rules.items())
    assert all(rule.exact in {None, around[name]} for name, rule in rules.items())


@pytest.mark.parametrize(
    ("ask", "name", "allowed"),
    [
        (Ask(first=2), "hasNextPage", {True}),
        (Ask(first=LENGTH), "hasNextPage", {False}),
        (Ask(last=2), "hasPreviousPage", {True}),
        (Ask(first=2), "hasPreviousPage", {False}),
        (Ask(first=2, after=3), "hasPreviousPage", {True, False}),
    ],
)
def test_a_flag_is_exact_in_the_direction_of_the_page(
    ask: Ask, name: str, allowed: set[bool]
) -> None:
    assert flags(ask, LENGTH)[name].allowed == allowed
