import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.entities.entity import Row
from dal.query.executor import Merge
from tests.strategies import MORE

positions = st.sets(st.text("ab\ud7ff\ue000\U00010000", max_size=3), max_size=8)
many_positions = st.lists(positions, max_size=5)


async def at_once() -> None:
    """Answer without a turn of the loop."""


@dataclass
class Rows:
    """Rows that say where they come from, so many an answer; ``asked`` counts the answers."""

    name: str
    keys: Sequence[str]
    size: int = 1
    wait: Callable[[], Awaitable[None]] = at_once
    fails_after: float = float("inf")
    taken: int = 0
    asked: int = 0
    log: list[str] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        # As DynamoDB: that nothing is left shows when an answer is not full.
        return self.asked > 0 and self.taken < self.asked * self.size

    async def more(self) -> Sequence[Row]:
        await self.wait()
        if self.taken >= self.fails_after:
            raise LookupError("this source broke")
        rows = self.keys[self.taken : self.taken + self.size]
        self.asked, self.taken = self.asked + 1, self.taken + len(rows)
        self.log.append(self.name)
        return [Row(key, {}, {"source": self.name}) for key in rows]


async def merged(sources: Sequence[Rows], *, descending: bool) -> list[Row]:
    merge, rows = Merge(sources, descending=descending), list[Row]()
    while came := await merge.more():
        rows += came
    return rows


@MORE
@given(sets=many_positions, size=st.integers(1, 4), descending=st.booleans())
async def test_the_merge_is_the_sorted_union(
    sets: list[set[str]], size: int, descending: bool
) -> None:
    sources = [
        Rows(str(number), sorted(one, reverse=descending), size) for number, one in enumerate(sets)
    ]
    rows = await merged(sources, descending=descending)
    assert [row.position for row in rows] == sorted(set[str]().union(*sets), reverse=descending)
    for row in rows:
        assert row.position in sets[int(row.values["source"])]


@MORE
@given(sets=many_positions, size=st.integers(1, 4), descending=st.booleans())
async def test_a_source_is_asked_again_only_when_the_next_row_hangs_on_it(
    sets: list[set[str]], size: int, descending: bool
) -> None:
    sources = [
        Rows(str(number), sorted(one, reverse=descending), size) for number, one in enumerate(sets)
    ]
    merge = Merge(sources, descending=descending)
    shown: list[str] = []
    while came := await merge.more():
        for source in sources:
            before = source.keys[: max(0, source.asked - 1) * source.size]
            # All rows of the answers before the last were shown before it was asked for.
            assert set(before) <= set(shown)
        shown += [row.position for row in came]


async def test_no_sources_and_empty_sources_have_no_rows() -> None:
    assert await merged([], descending=True) == []
    assert await merged([Rows("a", ""), Rows("b", "")], descending=True) == []


@pytest.mark.parametrize("size", [1, 2, 5])
async def test_a_position_in_several_sources_is_one_row(size: int) -> None:
    rows = await merged([Rows(name, "dba", size) for name in "xyz"], descending=True)
    assert [row.position for row in rows] == ["d", "b", "a"]


async def test_all_sources_are_asked_at_once() -> None:
    barrier = asyncio.Barrier(4)

    async def wait() -> None:
        await barrier.wait()

    async with asyncio.timeout(60):
        rows = await merged(
            [Rows(key, [key], size=2, wait=wait) for key in "cabd"], descending=False
        )
    assert [row.position for row in rows] == ["a", "b", "c", "d"]


async def test_only_the_source_that_runs_dry_is_asked_again() -> None:
    log: list[str] = []
    x, y = Rows("x", "abcdg", 2, log=log), Rows("y", "efh", 2, log=log)
    merge = Merge([x, y], descending=False)
    came = ["".join(row.position for row in await merge.more()) for _ in range(4)]
    assert (came, "".join(log)) == (["ab", "cd", "ef", "gh"], "xyxxy")


async def test_nothing_is_read_before_the_first_row_is_asked_for() -> None:
    one = Rows("x", "ab")
    Merge([one], descending=False)
    assert one.asked == 0


async def test_a_failing_start_cancels_the_others_and_is_raised() -> None:
    cancelled = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(1)

    sources = [Rows("x", "", wait=endless), Rows("y", "", fails_after=0), Rows("z", "", 1, endless)]
    with pytest.raises(LookupError, match="this source broke"):
        async with asyncio.timeout(60):
            await merged(sources, descending=True)
    assert len(cancelled) == 2


@pytest.mark.parametrize("after", [1, 2])
async def test_a_source_that_fails_later_ends_the_merge(after: int) -> None:
    merge = Merge([Rows("x", "ac", fails_after=after), Rows("y", "bd")], descending=False)
    shown = [(await merge.more())[0][0] for _ in range(2 * after - 1)]
    with pytest.raises(LookupError, match="this source broke"):
        await merge.more()
    assert "".join(shown) == "abc"[: 2 * after - 1]
