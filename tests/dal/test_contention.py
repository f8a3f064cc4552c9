import asyncio

import pytest

from dal import dynamodb
from dal.contention import Turns, contend
from dal.errors import ConflictError, ThrottledError


async def test_those_who_wait_are_served_in_order_one_at_a_time() -> None:
    turns, seen = Turns(), list[tuple[int, str]]()

    async def write(number: int) -> None:
        async with turns.take(["p"], patience=5):
            seen.append((number, "in"))
            await asyncio.sleep(0)
            seen.append((number, "out"))

    await asyncio.gather(*(write(number) for number in range(5)))
    assert seen == [(number, step) for number in range(5) for step in ("in", "out")]


async def test_different_names_do_not_wait_for_each_other() -> None:
    turns = Turns()
    async with turns.take(["p"], patience=1), turns.take(["q"], patience=1):
        pass


async def test_crossing_names_end() -> None:
    """Each takes its names in one order, whatever order they come in."""
    turns = Turns()

    async def write(names: list[str]) -> None:
        async with turns.take(names, patience=5):
            await asyncio.sleep(0.001)

    pairs = [["a", "b"], ["b", "a"], ["c", "a", "b"], ["b", "c", "b"]] * 10
    async with asyncio.timeout(5):
        await asyncio.gather(*map(write, pairs))


async def test_patience_ends_with_a_sentence_and_leaves_no_turn_behind() -> None:
    turns = Turns()
    async with turns.take(["b"], patience=1):
        with pytest.raises(ConflictError, match="try again"):
            async with turns.take(["a", "b"], patience=0.02):
                pytest.fail("b is taken")
        async with turns.take(["a"], patience=0.5):
            pass


async def test_names_that_nobody_waits_for_are_forgotten() -> None:
    turns = Turns()
    async with turns.take(["a", "b"], patience=1):
        assert len(turns._locks) == 2
    assert len(turns._locks) == 0


async def test_a_failure_gives_the_turn_back() -> None:
    turns = Turns()
    with pytest.raises(ThrottledError):
        async with turns.take(["p"], patience=1):
            raise ThrottledError("Busy.")
    async with turns.take(["p"], patience=1):
        pass


async def test_a_conflict_is_tried_again_and_the_answer_returned() -> None:
    conflicts = [ConflictError("Others.")] * 3

    async def attempt() -> int:
        if conflicts:
            raise conflicts.pop()
        return 7

    assert await contend(attempt) == 7


async def test_other_errors_are_not_tried_again() -> None:
    attempts = 0

    async def attempt() -> None:
        nonlocal attempts
        attempts += 1
        raise ThrottledError("Busy.")

    with pytest.raises(ThrottledError):
        await contend(attempt)
    assert attempts == 1


@pytest.mark.parametrize("patience", [None, 0.1])
async def test_what_conflicts_until_the_deadline_is_raised(
    monkeypatch: pytest.MonkeyPatch, patience: float | None
) -> None:
    monkeypatch.setattr(dynamodb, "DEADLINE", 0.1 if patience is None else 60)
    attempts = 0

    async def attempt() -> None:
        nonlocal attempts
        attempts += 1
        raise ConflictError("Others.")

    async with asyncio.timeout(5):
        with pytest.raises(ConflictError, match="Others"):
            await contend(attempt, patience)
    assert attempts > 1
