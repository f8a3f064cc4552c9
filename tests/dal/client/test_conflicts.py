import asyncio

import pytest

from dal.client import retries
from dal.client.concurrency import KeyedLocks
from dal.client.retries import retry_on_conflict
from dal.errors import ConflictError, ThrottledError


async def test_those_who_wait_are_served_in_order_one_at_a_time() -> None:
    turns, seen = KeyedLocks(), list[tuple[int, str]]()

    async def write(number: int) -> None:
        async with turns.hold(["p"], deadline=5):
            seen.append((number, "in"))
            await asyncio.sleep(0)
            seen.append((number, "out"))

    await asyncio.gather(*(write(number) for number in range(5)))
    assert seen == [(number, step) for number in range(5) for step in ("in", "out")]


async def test_different_names_do_not_wait_for_each_other() -> None:
    turns = KeyedLocks()
    async with turns.hold(["p"], deadline=1), turns.hold(["q"], deadline=1):
        pass


async def test_crossing_names_end() -> None:
    """Each takes its names in one order, whatever order they come in."""
    turns = KeyedLocks()

    async def write(names: list[str]) -> None:
        async with turns.hold(names, deadline=5):
            await asyncio.sleep(0.001)

    pairs = [["a", "b"], ["b", "a"], ["c", "a", "b"], ["b", "c", "b"]] * 10
    async with asyncio.timeout(60):
        await asyncio.gather(*map(write, pairs))


async def test_deadline_ends_with_a_sentence_and_leaves_no_turn_behind() -> None:
    turns = KeyedLocks()
    async with turns.hold(["b"], deadline=1):
        with pytest.raises(ConflictError, match="try again"):
            async with turns.hold(["a", "b"], deadline=0.02):
                pytest.fail("b is taken")
        async with turns.hold(["a"], deadline=0.5):
            pass


async def test_names_that_nobody_waits_for_are_forgotten() -> None:
    turns = KeyedLocks()
    async with turns.hold(["a", "b"], deadline=1):
        assert len(turns._locks) == 2
    assert len(turns._locks) == 0


async def test_a_failure_gives_the_turn_back() -> None:
    turns = KeyedLocks()
    with pytest.raises(ThrottledError):
        async with turns.hold(["p"], deadline=1):
            raise ThrottledError("Busy.")
    async with turns.hold(["p"], deadline=1):
        pass


async def test_a_conflict_is_tried_again_and_the_answer_returned() -> None:
    conflicts = [ConflictError("Others.")] * 3

    async def attempt() -> int:
        if conflicts:
            raise conflicts.pop()
        return 7

    assert await retry_on_conflict(attempt) == 7


async def test_other_errors_are_not_tried_again() -> None:
    attempts = 0

    async def attempt() -> None:
        nonlocal attempts
        attempts += 1
        raise ThrottledError("Busy.")

    with pytest.raises(ThrottledError):
        await retry_on_conflict(attempt)
    assert attempts == 1


@pytest.mark.parametrize("deadline", [None, 0.1])
async def test_what_conflicts_until_the_deadline_is_raised(
    monkeypatch: pytest.MonkeyPatch, deadline: float | None
) -> None:
    monkeypatch.setattr(retries, "DEADLINE", 0.1 if deadline is None else 60)

    async def attempt() -> None:
        raise ConflictError("Others.")

    async with asyncio.timeout(30):
        with pytest.raises(ConflictError, match="Others"):
            await retry_on_conflict(attempt, deadline)
