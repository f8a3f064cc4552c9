"""The event loop runs other tasks while it completes a large result."""

import asyncio
import gc
from collections.abc import Hashable
from copy import copy
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from graphql.execution import Executor
from strawberry.execution.is_awaitable import optimized_is_awaitable

from dal.entities.comment import comment_position
from dal.model import Comment, Photo
from dal.query.pagination import Edge, Page, PageInfo, Slice
from dal.query.statistics import ExecutionStatistics
from dal.repositories.comments import Selection
from resolvers.context import Context
from schema.build import build_schema
from schema.execution.compiled.answer_size import LARGE, PACED_VALUES, AnswerSize
from schema.execution.compiled.fields import in_turns
from schema.execution.executable_schema import ExecutableSchema
from tests.resolvers.recording import STORES, RecordingStore
from tests.strategies import comment

PLAIN, COMPILED = build_schema(compiles=False), build_schema()
PHOTOS = (Photo("https://a.example/1", ""),) * 10
ROWS = [comment(f"c{number}", photos=PHOTOS) for number in range(100)]
FIELDS = " ".join(f"a{number}: title" for number in range(25))
SMALL = '{ product(productId: "1") { comments(first: 100) { nodes { id title text } } } }'
MANY = {
    "rows": f"comments(first: 100) {{ nodes {{ {FIELDS} }} }}",
    "edges": f"comments(first: 100) {{ edges {{ node {{ {FIELDS} }} }} }}",
    "lists": " ".join(f"a{n}: comments(first: 100) {{ nodes {{ id }} }}" for n in range(25)),
    "photos": "comments(first: 100) { nodes { photos { url alt } } }",
}
IDS = " ".join(f"a{number}: productId" for number in range(25))
OF_PRODUCTS = f"query($ids: [ID!]!) {{ products(productIds: $ids) {{ {IDS} }} }}"


class FullStore(RecordingStore):
    """Returns pages with the requested number of rows, without waiting."""

    async def page(self, selection: Selection, cut: Slice, since: Hashable = None) -> Page[Comment]:
        edges = [Edge(one, comment_position(one)) for one in ROWS[: cut.limit]]
        return Page(edges, PageInfo(None, None, None, None), ExecutionStatistics("AP1"))


async def turns_beside(schema: ExecutableSchema, text: str, **variables: object) -> int:
    """Execute an operation twice. Return the number of turns that another task had the second
    time, in which the operation is compiled.
    """
    turns = 0

    async def beside() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    stores = copy(STORES)
    stores.comments = FullStore()
    for _ in range(2):
        turns, other = 0, asyncio.create_task(beside())
        context = Context(None, stores)
        answer = await schema.execute(text, variables, context_value=context)
        other.cancel()
    assert answer.errors is None
    assert len(str(answer.data)) > 2_000
    return turns


@pytest.mark.parametrize("selected", MANY.values(), ids=MANY)
@pytest.mark.parametrize("schema", [PLAIN, COMPILED], ids=["plain", "compiled"])
async def test_a_large_result_yields_to_other_requests(
    schema: ExecutableSchema, selected: str
) -> None:
    turns = await turns_beside(schema, f'{{ product(productId: "1") {{ {selected} }} }}')
    assert turns > 2_000 / LARGE


@pytest.mark.parametrize("schema", [PLAIN, COMPILED], ids=["plain", "compiled"])
async def test_a_list_that_is_no_page_yields_to_other_requests(schema: ExecutableSchema) -> None:
    turns = await turns_beside(schema, OF_PRODUCTS, ids=[str(n) for n in range(100)])
    assert turns > 2_000 / LARGE


@pytest.mark.parametrize("schema", [PLAIN, COMPILED], ids=["plain", "compiled"])
async def test_a_large_result_takes_few_tasks(schema: ExecutableSchema) -> None:
    """The items of a list do not wait for their turns in tasks of their own."""
    tasks, loop = 0, asyncio.get_running_loop()

    def counted(loop: asyncio.AbstractEventLoop, coro: Any, **of: Any) -> asyncio.Task[Any]:
        nonlocal tasks
        tasks += 1
        return asyncio.Task(coro, loop=loop, **of)

    loop.set_task_factory(counted)
    try:
        await turns_beside(schema, f'{{ product(productId: "1") {{ {MANY["photos"]} }} }}')
    finally:
        loop.set_task_factory(None)
    assert 2 < tasks < 2 * len(ROWS)


async def test_the_waiting_items_of_a_list_that_fails_are_cancelled() -> None:
    lost, loop = list[dict[str, Any]](), asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: lost.append(context))
    answer, items = AnswerSize(turn=lambda: asyncio.sleep(0)), list[asyncio.Future[Any]]()
    executor: Any = SimpleNamespace(
        answer=answer, is_awaitable=optimized_is_awaitable, background_futures=set()
    )
    executor.settle_in_background = partial(Executor.settle_in_background, executor)

    def of_item(index: int, _: Any) -> asyncio.Future[Any]:
        if index == 2:
            raise ValueError("the last item")
        answer.add(2 * LARGE, 0)
        items.append(asyncio.create_task(asyncio.Event().wait()))
        return items[-1]

    with pytest.raises(ValueError, match="last item"):
        await in_turns(executor, range(4), of_item)
    for _ in range(3):
        await asyncio.sleep(0)
    gc.collect()
    loop.set_exception_handler(None)
    assert [one.cancelled() for one in items] == [True, True]
    assert lost == []


async def test_a_small_result_does_not_yield_to_other_requests() -> None:
    assert await turns_beside(COMPILED, SMALL) < 20
    assert PACED_VALUES > 100 * 3
