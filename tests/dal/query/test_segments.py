from dataclasses import replace
from typing import Any

import pytest

from dal.entities.comment import ALL, COMMENT, comment_position
from dal.query.executor import PageProgress, SegmentReader
from dal.query.plan import Plan
from dal.query.statistics import ExecutionStatistics
from dal.repositories.comments import Selection
from dal.table.ranges import Range
from tests.dal.planning import plan
from tests.fakes import FakeEngine
from tests.strategies import comment

ROWS = [comment(f"{number:02}") for number in range(10)]
POSITIONS = [comment_position(row) for row in ROWS]


def loaded(**settings: Any) -> FakeEngine:
    engine = FakeEngine(**settings)
    engine.put(*map(COMMENT.encode, ROWS), COMMENT.encode(comment("x", product_id="43")))
    return engine


def planned(limit: int, span: Range | None = None, *, descending: bool = True) -> Plan:
    query = Selection("42").query()
    return plan(COMMENT.indexes, query, span or Range(), descending=descending, limit=limit)


async def read(
    engine: FakeEngine, whole: Plan, most: int = 100
) -> tuple[list[str], ExecutionStatistics]:
    """Read a segment until there are ``most`` positions or the segment ends."""
    reading, progress = ExecutionStatistics("AP1"), PageProgress(whole.segments[0].limit)
    reader = SegmentReader(engine, whole, whole.segments[0], reading, progress)
    positions: list[str] = []
    while len(positions) < most and (rows := await reader.more()):
        for position, item, values in rows:
            positions.append(position)
            assert item["GSISK"]["S"] == position
            assert values == {"product": "42"}
    assert reader.ended or len(positions) >= most
    for response in progress.reads:
        within = [one for one in POSITIONS if not (response.range & Range(one, one)).empty]
        assert sorted(row.position for row in response.rows) == within
    return positions[:most], reading


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("limit", [1, 3, 10, 11, 100])
@pytest.mark.parametrize("most_rows", [None, 1, 4])
@pytest.mark.parametrize("hollow", [False, True])
async def test_a_segment_is_read_to_its_end_whatever_the_sizes_of_responses(
    descending: bool, limit: int, most_rows: int | None, hollow: bool
) -> None:
    engine = loaded(most_rows=most_rows, hollow=hollow)
    positions, reading = await read(engine, planned(limit, descending=descending))
    assert positions == sorted(POSITIONS, reverse=descending)
    assert (reading.requests, reading.items_read) == (len(engine.requests), 10)
    assert engine.rows_answered == 10


@pytest.mark.parametrize(
    ("limit", "taken", "requests"), [(5, 1, 1), (5, 5, 1), (5, 6, 2), (10, 10, 1), (3, 10, 4)]
)
async def test_a_refill_is_sent_only_when_all_rows_are_used(
    limit: int, taken: int, requests: int
) -> None:
    engine = loaded()
    positions, _ = await read(engine, planned(limit), most=taken)
    assert len(positions) == taken
    assert len(engine.requests) == requests


async def test_a_segment_ends_with_a_response_without_a_last_key() -> None:
    engine = loaded()
    await read(engine, planned(11))
    assert len(engine.requests) == 1
    # If the limit is reached, DynamoDB returns a last key even if no row follows.
    await read(engine, planned(10))
    assert len(engine.requests) == 3


async def test_requests_have_the_arguments_of_the_plan() -> None:
    engine = loaded()
    span = Range(high=POSITIONS[7])
    await read(engine, planned(5, span))
    for request in engine.requests:
        assert (request.index, request.partition) == (ALL, "PRODUCT#42")
        assert (request.range, request.descending, request.limit) == (span, True, 5)
    assert [request.start is None for request in engine.requests] == [True, False]


async def test_the_statistics_of_a_segment_have_its_partition_range_and_limit() -> None:
    _, reading = await read(loaded(), planned(4, Range(low=POSITIONS[3], low_open=True)))
    (account,) = reading.segments
    assert account.partition_key == "PRODUCT#42"
    assert account.range == f"> {POSITIONS[3]}"
    assert (account.limit, account.skipped, account.items_read) == (4, False, 6)
    assert (reading.requests, reading.items_read, reading.consumed_capacity) == (2, 6, 1.0)


async def test_each_refill_doubles_the_rows_that_are_expected_up_to_all_that_are_missing() -> None:
    engine = loaded()
    whole = planned(1)
    whole = replace(whole, segments=(whole.segments[0]._replace(share=0.25),))
    reader = SegmentReader(
        engine, whole, whole.segments[0], ExecutionStatistics("AP1"), PageProgress(8)
    )
    while await reader.more():
        pass
    # The limit after the first: a quarter of 8 rows, and a deviation of 1.2.
    assert [request.limit for request in engine.requests] == [1, 4, 8]
