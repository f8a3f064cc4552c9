"""Requests that belong together: cut into batches, awaited at once."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

Result = TypeVar("Result")
First = TypeVar("First")
Second = TypeVar("Second")


def batched(items: Sequence[Result], size: int) -> list[Sequence[Result]]:
    """Return ``items`` cut into runs of at most ``size``."""
    return [items[start : start + size] for start in range(0, len(items), size)]


async def in_parallel(work: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Await all of ``work`` at once; the first failure cancels the rest and is raised."""
    if len(work) == 1:  # the most frequent case needs no task
        return [await work[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def both(
    first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second]
) -> tuple[First, Second]:
    """Await two of different kinds at once, as ``in_parallel`` does."""
    work: list[Coroutine[Any, Any, Any]] = [first, second]
    one, two = await in_parallel(work)
    return one, two
