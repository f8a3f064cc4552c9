import asyncio

import pytest

from dal.client.concurrency import batched, in_parallel


async def test_results_come_in_the_order_of_the_work() -> None:
    async def after(seconds: float, result: str) -> str:
        await asyncio.sleep(seconds)
        return result

    assert await in_parallel([after(0.02, "slow"), after(0, "quick")]) == ["slow", "quick"]
    assert await in_parallel([after(0, "only")]) == ["only"]
    assert await in_parallel([]) == []


async def test_all_work_is_under_way_at_once() -> None:
    barrier = asyncio.Barrier(3)
    async with asyncio.timeout(60):
        await in_parallel([barrier.wait() for _ in range(3)])


@pytest.mark.parametrize("others", [0, 1, 5])
async def test_the_first_failure_is_raised_as_it_is_and_the_rest_are_cancelled(others: int) -> None:
    cancelled = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    async def failing() -> None:
        await asyncio.sleep(0)
        raise LookupError("the first")

    with pytest.raises(LookupError, match="the first") as caught:
        async with asyncio.timeout(60):
            await in_parallel([*(endless() for _ in range(others)), failing()])
    assert len(cancelled) == others
    assert caught.value.__cause__ is None


async def test_cancelling_the_whole_cancels_each_part() -> None:
    ended = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    whole = asyncio.create_task(in_parallel([endless(), endless()]))
    await asyncio.sleep(0.01)
    whole.cancel()
    with pytest.raises(asyncio.CancelledError):
        await whole
    assert len(ended) == 2


@pytest.mark.parametrize(
    ("items", "batches"),
    [("", []), ("a", ["a"]), ("abc", ["abc"]), ("abcdefg", ["abc", "def", "g"])],
)
def test_batches_keep_the_order_and_lose_nothing(items: str, batches: list[str]) -> None:
    assert batched(items, 3) == batches
