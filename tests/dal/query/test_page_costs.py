import asyncio
from dataclasses import replace

import pytest

from dal.dynamodb.errors import StoreUnavailableError, ThrottledError
from dal.model import RATINGS
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from tests.dal.paging import ANY, PRODUCT, dense, engine_of, listed, read
from tests.oracle import next_cut
from tests.strategies import TIES

MANY = [
    dense(f"{number:03}", rating=RATINGS[number % 5], created_at=TIES[number % 3])
    for number in range(300)
]
ALL_POSITIONS = listed(MANY, ANY)
TEN, TWENTY, GONE = ALL_POSITIONS[10], ALL_POSITIONS[20], ALL_POSITIONS[10] + "-"
SEVERAL = Selection(PRODUCT, frozenset({1, 3, 5}))


@pytest.mark.parametrize(
    ("cut", "requests", "limits"),
    [
        (Slice(20), 1, [20]),
        (Slice(20, after=TEN), 1, [20]),
        (Slice(20, next_page=True), 1, [21]),
        (Slice(20, total=True), 1, [21]),
        (Slice(20, total=True, next_page=True), 1, [21]),
        (Slice(20, backward=True, total=True), 1, [21]),
        (Slice(20, after=TEN, total=True), 1, [20]),
        (Slice(20, after=TEN, before=TWENTY, total=True), 1, [20]),
        (Slice(20, previous_page=True), 1, [20]),
        (Slice(20, after=TEN, previous_page=True), 1, [21]),
        (Slice(20, after=TEN, next_page=True, previous_page=True), 1, [22]),
        (Slice(20, after=GONE, previous_page=True), 2, [21, 1]),
        (Slice(20, after=TEN, before=TWENTY), 1, [20]),
        (Slice(20, after=TEN, before=TWENTY, next_page=True), 2, [21, 1]),
        (Slice(5, after=TEN, before=TWENTY, next_page=True), 1, [6]),
        (Slice(20, backward=True, before=TWENTY, next_page=True, previous_page=True), 1, [22]),
        (Slice(20, after=TWENTY, before=TEN), 0, []),
        (Slice(0), 0, []),
        (Slice(0, after=TEN, before=TWENTY), 0, []),
        (Slice(0, next_page=True), 1, [1]),
        (Slice(0, after=TEN, previous_page=True), 1, [1]),
    ],
)
@pytest.mark.parametrize(("selection", "segments"), [(ANY, 1), (SEVERAL, 3)])
async def test_a_page_costs_one_request_per_segment_and_the_requests_of_its_flags(
    cut: Slice, requests: int, limits: list[int], selection: Selection, segments: int
) -> None:
    if selection is SEVERAL:
        shown = listed(MANY, SEVERAL)
        ends = {TEN: shown[10], TWENTY: shown[20], GONE: shown[10] + "-", None: None}
        cut = replace(cut, after=ends[cut.after], before=ends[cut.before])
    engine = engine_of(MANY)
    page = await read(engine, selection, cut)
    assert [one.limit for one in engine.requests] == [
        limit for limit in limits for _ in range(segments)
    ]
    assert page.stats.requests == requests * segments
    assert (page.page_info.has_next_page is None) == (not cut.next_page)
    assert (page.page_info.has_previous_page is None) == (not cut.previous_page)


@pytest.mark.parametrize("selection", [ANY, SEVERAL])
@pytest.mark.parametrize("backward", [False, True])
async def test_the_cost_of_a_page_does_not_depend_on_its_depth(
    selection: Selection, backward: bool
) -> None:
    engine = engine_of(MANY)
    shown = listed(MANY, selection)
    costs = set()
    for depth in (70, 85, 100, 110):
        cut = next_cut(20, shown[depth], backward=backward)
        reading = (await read(engine, selection, cut)).stats
        costs.add((reading.requests, reading.items_read, reading.consumed_capacity))
    assert len(costs) == 1


@pytest.mark.parametrize(
    "selection",
    [Selection(PRODUCT, frozenset()), Selection(PRODUCT, None, frozenset())],
    ids=["no rating", "no language"],
)
async def test_a_filter_without_values_reads_nothing(selection: Selection) -> None:
    engine = engine_of(MANY)
    page = await read(engine, selection, Slice(20, False, TEN, None, True, True))
    assert page.edges == []
    assert (page.page_info.has_next_page, page.page_info.has_previous_page) == (False, False)
    assert (page.page_info.start_cursor, page.page_info.end_cursor) == (None, None)
    assert engine.requests == []


async def test_segments_are_read_in_parallel() -> None:
    engine = engine_of(MANY)
    page = await read(engine, SEVERAL, Slice(20))
    assert engine.most_running == 3
    assert [one.partition_key[-1] for one in page.stats.segments] == ["1", "3", "5"]
    assert (page.stats.access_pattern, page.stats.index) == ("AP3c", "byRating")


async def test_only_a_segment_without_unused_rows_is_read_again() -> None:
    newest = [dense(f"n{number}", rating=5, created_at=TIES[2]) for number in range(9)]
    oldest = [dense(f"o{number}", rating=1, created_at=TIES[0]) for number in range(9)]
    engine = engine_of(newest + oldest, most_rows=3)
    page = await read(engine, Selection(PRODUCT, frozenset({1, 5})), Slice(8))
    assert [node.rating for node in page.nodes] == [5] * 8
    assert engine.asked == {"PRODUCT#42%2Fen/5": 3, "PRODUCT#42%2Fen/1": 1}


CUT = Slice(20, after=GONE, before=TWENTY, next_page=True, previous_page=True)


@pytest.mark.parametrize("number", range(9))
async def test_a_fault_in_any_request_fails_the_page(number: int) -> None:
    """The page sends nine requests: in each of three segments one for the rows and one
    for each flag.
    """
    whole = engine_of(MANY)
    await read(whole, SEVERAL, CUT)
    assert len(whole.requests) == 9
    engine = engine_of(MANY, faults={number: ThrottledError("busy")})
    with pytest.raises(ThrottledError, match="busy"):
        await read(engine, SEVERAL, CUT)
    assert engine.running == 0


async def test_a_failed_segment_does_not_wait_for_the_other_segments() -> None:
    slow = {f"PRODUCT#42%2Fen/{rating}": 60.0 for rating in (1, 3)}
    engine = engine_of(MANY, faults={2: StoreUnavailableError("gone")}, delays=slow)
    with pytest.raises(StoreUnavailableError, match="gone"):
        async with asyncio.timeout(60):
            await read(engine, SEVERAL, Slice(20))
    assert (engine.most_running, engine.running) == (3, 0)


async def test_a_page_stops_reading_when_its_client_leaves() -> None:
    engine = engine_of(MANY, delays={"PRODUCT#42%2Fen/3": 60.0})
    reading = asyncio.create_task(read(engine, SEVERAL, Slice(20)))
    await asyncio.sleep(0.01)
    assert engine.running == 1
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert engine.running == 0
