"""The head item is read together with the first rows, and is never shown as a row."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.entities.organization import USERS_OF_ORGANIZATION
from dal.entities.ticket import TICKETS_OF_USER
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.query.plan import Query
from dal.table.index import Index
from dal.table.items import Item
from dal.table.key_parts import escape
from dal.table.ranges import UNBOUNDED, Range
from tests.fakes import FakeEngine
from tests.oracle import page_of
from tests.strategies import MORE

NAMES = ("a", "b", "b/c", "m", "z", "é", "😀", "\U0010fffe")
PLACE = {"organization": "o", "username": "u"}
DATA = {"S": "{}"}

names = st.sampled_from(NAMES)
ends = st.none() | names.map(escape)
cuts = st.builds(Slice, st.integers(0, 5), st.booleans(), ends, ends, *[st.booleans()] * 3)
withins = st.builds(Range, ends, ends, st.booleans(), st.booleans())


def item(index: Index, sort_key: str) -> Item:
    keys = {
        index.partition_key: {"S": index.partition_of(PLACE)},
        index.sort_key: {"S": sort_key},
    }
    return {"PK": {"S": sort_key}, "SK": {"S": sort_key}, **keys, "data": DATA}


def collection(index: Index, positions: set[str], *, headed: bool) -> FakeEngine:
    """Return an engine with rows, with a head item if ``headed``, and with items outside
    the list.
    """
    engine = FakeEngine()
    engine.put(*(item(index, index.label + position) for position in positions))
    engine.put(item(index, "AAA#1"), item(index, "ZZZ#1"))
    if headed:
        engine.put(item(index, f"{index.head}u"))
    return engine


async def read(
    engine: FakeEngine, index: Index, cut: Slice, within: Range = UNBOUNDED
) -> Page[str]:
    filters = {field: frozenset({PLACE[field]}) for field in index.partition}
    reader = PageReader(
        Executor(engine, [index]),
        lambda row: str(row.item[index.sort_key]["S"]),
        descending=index is TICKETS_OF_USER,
    )
    return await reader.read(Query("T", filters, within, head=True), cut)


def inside(within: Range, position: str) -> bool:
    return not (within & Range(position, position)).empty


@MORE
@given(
    index=st.sampled_from([USERS_OF_ORGANIZATION, TICKETS_OF_USER]),
    positions=st.sets(names.map(escape)),
    headed=st.booleans(),
    cut=cuts,
    within=withins | st.just(UNBOUNDED),
)
async def test_a_page_has_the_same_rows_with_its_head_item(
    index: Index, positions: set[str], headed: bool, cut: Slice, within: Range
) -> None:
    engine = collection(index, positions, headed=headed)
    page = await read(engine, index, cut, within)
    descending = index is TICKETS_OF_USER
    bounded = sorted((one for one in positions if inside(within, one)), reverse=True)
    shown, follows, precedes = page_of(
        bounded, cut if descending else replace(cut, reverse=not cut.reverse)
    )
    assert [edge.position for edge in page.edges] == shown
    assert page.nodes == [index.label + position for position in shown]
    assert page.page_info.has_next_page == (follows if cut.next_page else None)
    assert page.page_info.has_previous_page == (precedes if cut.previous_page else None)
    beginning = within.high if descending else within.low
    from_it = not (cut.backward or cut.reverse) and cut.after is None and beginning is None
    assert (page.head is not None) == (headed and from_it)
    if page.head is not None:
        assert page.head[index.sort_key] == {"S": f"{index.head}u"}


@pytest.mark.parametrize("index", [USERS_OF_ORGANIZATION, TICKETS_OF_USER])
async def test_the_head_item_costs_one_row_and_no_request(index: Index) -> None:
    engine = collection(index, set(map(escape, NAMES)), headed=True)
    page = await read(engine, index, Slice(3, next_page=True))
    (request,) = engine.requests
    assert request.limit == 5
    assert page.stats.items_read == 5
    assert len(page.edges) == 3
