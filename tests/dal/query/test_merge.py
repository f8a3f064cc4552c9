import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.query.merge import merge
from tests.strategies import MORE

Rows = AsyncGenerator[tuple[str, str], None]
positions = st.sets(st.text("ab\ud7ff\ue000\U00010000", max_size=3), max_size=8)
many_positions = st.lists(positions, max_size=5)


async def stream(name: str, keys: Iterable[str], read: list[str] | None = None) -> Rows:
    """Yield rows that say where they come from, and note in ``read`` what was taken."""
    for key in keys:
        if read is not None:
            read.append(key)
        yield key, f"{key} of {name}"


async def failing(after: Iterable[str]) -> Rows:
    for key in after:
        yield key, key
    raise LookupError("this stream broke")


async def merged(streams: list[Rows], *, descending: bool) -> list[tuple[str, str]]:
    return [row async for row in merge(streams, descending=descending)]


@MORE
@given(sets=many_positions, descending=st.booleans())
async def test_the_merge_is_the_sorted_union(sets: list[set[str]], descending: bool) -> None:
    streams = [
        stream(str(number), sorted(one, reverse=descending)) for number, one in enumerate(sets)
    ]
    rows = await merged(streams, descending=descending)
    assert [position for position, _ in rows] == sorted(set[str]().union(*sets), reverse=descending)
    for position, row in rows:
        assert row in {
            f"{position} of {number}" for number, one in enumerate(sets) if position in one
        }


async def test_no_streams_and_empty_streams_yield_nothing() -> None:
    assert await merged([], descending=True) == []
    assert await merged([stream("a", ""), stream("b", "")], descending=True) == []


async def test_a_position_in_several_streams_is_one_row() -> None:
    rows = await merged([stream(name, "dba") for name in "xyz"], descending=True)
    assert [position for position, _ in rows] == ["d", "b", "a"]


async def test_all_streams_start_at_once() -> None:
    barrier = asyncio.Barrier(4)

    async def waiting(key: str) -> Rows:
        await barrier.wait()
        yield key, key

    async with asyncio.timeout(5):
        rows = await merged([waiting(key) for key in "cabd"], descending=False)
    assert [position for position, _ in rows] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("taken", [1, 2, 7])
async def test_only_what_is_taken_is_read(taken: int) -> None:
    read: list[str] = []
    streams = [
        stream("x", "acegik", read),
        stream("y", "bdfhjl", read),
        stream("z", "mnopqr", read),
    ]
    rows = []
    async with aclosing(merge(streams, descending=False)) as running:
        async for position, _ in running:
            rows.append(position)
            if len(rows) == taken:
                break
    assert rows == list("abcdefghijkl"[:taken])
    assert (
        len(read) == len(streams) + taken - 1
    )  # a head of each, and one for each row but the last
    for one in streams:
        await one.aclose()


async def test_nothing_is_read_before_the_first_row_is_asked_for() -> None:
    read: list[str] = []
    one = stream("x", "ab", read)
    await merge([one], descending=False).aclose()
    assert read == []
    await one.aclose()


async def test_a_failing_start_cancels_the_others_and_is_raised() -> None:
    cancelled = []

    async def endless() -> Rows:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(1)
        yield "a", "a"

    with pytest.raises(LookupError, match="this stream broke"):
        async with asyncio.timeout(5):
            await merged([endless(), failing(""), endless()], descending=True)
    assert len(cancelled) == 2


@pytest.mark.parametrize("before", ["a", "ac"])
async def test_a_stream_that_fails_later_ends_the_merge(before: str) -> None:
    rows = merge([failing(before), stream("y", "bd")], descending=False)
    expected = "abcd"[: 2 * len(before) - 1]
    assert [(await anext(rows))[0] for _ in expected] == list(expected)
    with pytest.raises(LookupError, match="this stream broke"):
        await anext(rows)
