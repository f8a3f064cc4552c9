"""The event loop runs other tasks while it completes a large result."""

import asyncio
from collections.abc import Hashable
from copy import copy

import pytest

from dal.entities.comment import comment_position
from dal.model import Comment
from dal.query.pagination import Edge, Page, PageInfo, Slice
from dal.query.trace import ExecutionStatistics
from dal.repositories.comments import Selection
from resolvers.context import Context
from schema.build import build_schema
from schema.execution.executable_schema import PACED_VALUES
from tests.resolvers.recording import STORES, RecordingStore
from tests.strategies import comment

SCHEMA = build_schema()
ROWS = [comment(f"c{number}") for number in range(100)]
FIELDS = " ".join(f"a{number}: title" for number in range(25))
SMALL = '{ product(productId: "1") { comments(first: 100) { nodes { id title text } } } }'
LARGE = {
    "large rows": (f"comments(first: 100) {{ nodes {{ {FIELDS} }} }}", 100),
    "large edges": (f"comments(first: 100) {{ edges {{ node {{ {FIELDS} }} }} }}", 100),
    "many lists": (
        " ".join(f"a{number}: comments(first: 100) {{ nodes {{ id }} }}" for number in range(25)),
        25,
    ),
}


class FullStore(RecordingStore):
    """Returns pages with the requested number of rows, without waiting."""

    async def page(self, selection: Selection, cut: Slice, since: Hashable = None) -> Page[Comment]:
        edges = [Edge(one, comment_position(one)) for one in ROWS[: cut.limit]]
        return Page(edges, PageInfo(None, None, None, None), ExecutionStatistics("AP1"))


async def turns_beside(text: str) -> int:
    """Execute an operation. Return the number of turns that another task had meanwhile."""
    turns = 0

    async def beside() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(beside())
    stores = copy(STORES)
    stores.comments = FullStore()
    context = Context(None, stores)
    answer = await SCHEMA.execute(text, context_value=context)
    other.cancel()
    assert answer.errors is None
    assert str(answer.data).count("Good") + str(answer.data).count("Q29t") >= 100
    return turns


@pytest.mark.parametrize(("selected", "turns"), LARGE.values(), ids=LARGE)
async def test_a_large_result_yields_to_other_requests(selected: str, turns: int) -> None:
    assert await turns_beside(f'{{ product(productId: "1") {{ {selected} }} }}') > turns


async def test_a_small_result_does_not_yield_to_other_requests() -> None:
    assert await turns_beside(SMALL) < 20
    assert PACED_VALUES > 100 * 3
