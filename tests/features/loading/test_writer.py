import asyncio
from collections.abc import Sequence

import pytest

from dal.dynamodb.errors import StoreUnavailableError
from dal.writes.overwrite import Outcome, compared, summed
from features.loading.writer import AT_ONCE, Writer


class Gate:
    """A store whose writes wait for the test. The first letter of a value is its id."""

    def __init__(self) -> None:
        self.waiting: list[tuple[list[str], asyncio.Event]] = []
        self.most = 0
        self.stored: dict[str, str] = {}
        self.failing: set[str] = set()

    async def put(self, things: Sequence[str]) -> Outcome:
        entry = (list(things), asyncio.Event())
        self.waiting.append(entry)
        self.most = max(self.most, len(self.waiting))
        try:
            await entry[1].wait()
        finally:
            self.waiting.remove(entry)
        if self.failing & set(things):
            raise StoreUnavailableError(f"gone: {things[0]}")
        held = [compared(self.stored.get(thing[0]), thing) for thing in things]
        self.stored |= {thing[0]: thing for thing in things}
        return summed(held)

    async def open(self, number: int = 0) -> None:
        await asyncio.sleep(0)
        self.waiting[number][1].set()
        await asyncio.sleep(0)


def batch(*things: str) -> dict[str, str]:
    return {thing[0]: thing for thing in things}


async def drain(gate: Gate, task: "asyncio.Task[None]") -> None:
    """Let the newest write pass, again and again, until ``task`` is done."""
    while not task.done():
        await asyncio.sleep(0)
        if gate.waiting:
            await gate.open(-1)


async def test_a_limited_number_of_batches_is_written_in_parallel() -> None:
    gate = Gate()

    async def work() -> None:
        async with Writer(gate.put) as writer:
            for letter in "abcdefghij":
                await writer.write(batch(letter))
        assert writer.outcome.total == 10

    await drain(gate, task := asyncio.create_task(work()))
    await task
    assert gate.most == AT_ONCE
    assert sorted(gate.stored) == list("abcdefghij")


async def test_writes_of_one_id_keep_their_order() -> None:
    gate = Gate()

    writer = Writer(gate.put)

    async def work() -> None:
        async with writer:
            for things in (["a1", "b1"], ["c1"], ["b2"], ["d1"], ["a2", "b3"]):
                await writer.write(batch(*things))

    await drain(gate, task := asyncio.create_task(work()))
    await task
    assert gate.stored == batch("a2", "b3", "c1", "d1")
    assert writer.outcome == Outcome(new=4, changed=3)


@pytest.mark.parametrize(("seconds", "room"), [(0.0, 5_000), (1_000.0, 200), (1.0, 600)])
async def test_the_size_of_the_next_batch_is_adapted_to_two_seconds(
    monkeypatch: pytest.MonkeyPatch, seconds: float, room: int
) -> None:
    clock = iter([0.0, seconds])
    monkeypatch.setattr("features.loading.writer.monotonic", lambda: next(clock))

    async def put(things: Sequence[str]) -> Outcome:
        return Outcome(new=len(things))

    async with Writer(put) as writer:
        await writer.write({str(number): "x" for number in range(300)})
    assert writer.room == room


async def test_after_a_failure_the_other_batches_are_awaited_and_counted() -> None:
    gate = Gate()
    gate.failing = {"b"}
    writer = Writer(gate.put)

    async def work() -> None:
        async with writer:
            for letter in "abcdefgh":
                await writer.write(batch(letter), Outcome(changed=9))

    await drain(gate, task := asyncio.create_task(work()))
    with pytest.raises(StoreUnavailableError, match="gone"):
        await task
    assert gate.waiting == []
    assert writer.outcome.total == 10 * len(gate.stored)
    assert "b" not in gate.stored


async def test_after_a_failure_no_further_batch_is_written() -> None:
    gate = Gate()
    gate.failing = {"a"}

    async def work() -> None:
        async with Writer(gate.put) as writer:
            for letter in "abc":
                await writer.write(batch(letter))

    task = asyncio.create_task(work())
    for _ in range(3):  # both batches start
        await asyncio.sleep(0)
    await gate.open(0)
    await drain(gate, task)
    with pytest.raises(StoreUnavailableError):
        await task
    assert gate.stored == batch("b")


async def test_of_two_failures_the_first_is_raised() -> None:
    gate = Gate()
    gate.failing = {"a", "b"}

    async def work() -> None:
        async with Writer(gate.put) as writer:
            for letter in "ab":
                await writer.write(batch(letter))

    task = asyncio.create_task(work())
    for _ in range(3):  # both batches start
        await asyncio.sleep(0)
    await gate.open(1)
    await drain(gate, task)
    with pytest.raises(StoreUnavailableError, match="gone: b"):
        await task


async def test_a_failure_of_the_last_batch_is_raised_at_the_end_of_the_block() -> None:
    gate = Gate()
    gate.failing = {"a"}

    async def work() -> None:
        async with Writer(gate.put) as writer:
            await writer.write(batch("a"))

    await drain(gate, task := asyncio.create_task(work()))
    with pytest.raises(StoreUnavailableError):
        await task


async def test_a_cancelled_load_leaves_no_running_write() -> None:
    gate = Gate()

    async def work() -> None:
        async with Writer(gate.put) as writer:
            await writer.write(batch("a"))
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0.01)
    assert len(gate.waiting) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gate.waiting == []
