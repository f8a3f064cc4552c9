"""The cost of operations on groups is predicted, and the reads of the largest pages end."""

import pytest

from dal.stores import Stores
from schema.execution.cost import Cost
from tests.schema.execution.test_cost import cost_of, maxima_of, product
from tests.schema.execution.test_predicted_cost import (
    OF_ALL,
    SCHEMAS,
    World,
    costs_are_shown,
    executed,
    world,
)

__all__ = ["costs_are_shown", "world"]


@pytest.mark.parametrize(
    ("text", "calls", "values"),
    [
        (
            product(
                "group { comments(first: 2, planBy: FULL_PAGES) { plan { rows { segment } } } }"
            ),
            12,
            4 + 2 * 20,
        ),
        (product("group { groupId }"), 2, 3),
        (product("title group { statistics { total } }"), 2 + 10, 5),
        (product("group { products { statistics { total } } }"), 2 + 10, 2 + 30),
        (product("group { comments(first: 3) { nodes { id } totalCount } }"), 2 + 20, 10),
        (product("group { comments(rating: [1, 2, 3]) { pageInfo { endCursor } } }"), 2 + 30, 5),
        (
            product(
                'group { comments(rating: [1, 2, 3], language: ["a", "b", "c"]) { __typename } }'
            ),
            2 + 60,
            4,
        ),
    ],
)
def test_the_cost_of_an_operation_is_predicted(text: str, calls: int, values: int) -> None:
    assert cost_of(text) == (calls, values)


@pytest.mark.parametrize(
    ("text", "requests", "rcu"),
    [
        (
            product("group { comments(first: 10, planBy: FULL_PAGES) { __typename } }"),
            2 + 60,
            20 * 2 + 10 * (60 + 60 * 10),
        ),
        (product("group { products { statistics { total } } }"), 2 + 60 * 3, 20 * 182),
    ],
)
def test_the_predicted_requests_and_capacity_are_maxima(
    text: str, requests: int, rcu: float
) -> None:
    assert maxima_of(text) == (requests, rcu)


LARGEST = "group { comments(first: 20, planBy: FULL_PAGES) { nodes { id } } }"
"""A group's page, which reads 1 MB of each of 12 products in parallel: 1,536 RCU."""


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> float:
    """Predict fewer RCU than LARGEST consumes, and return them."""
    rcu = 600.0
    monkeypatch.setattr(Cost, "limit", lambda cost: (2 * cost.requests, rcu))
    return rcu


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
async def test_parallel_reads_of_the_largest_rows_end(
    world: World, limited: float, number: int
) -> None:
    text = f'{{ product(productId: "c0") {{ {LARGEST} }} }}'
    answer = await executed(number, world[0], None, OF_ALL, text)
    (error,) = answer.errors
    assert (error.extensions["code"], answer.data) == ("QUERY_TOO_COSTLY", None)
    assert limited < answer.extensions["cost"]["actual"]["rcu"] < 2 * limited


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
async def test_reads_of_a_payload_end_and_the_payload_shows_the_write(
    world: World, limited: float, number: int
) -> None:
    """After the end, the operation writes nothing more."""
    products = "c0", f"new{number}"
    writes = [
        f'{one}: updateProduct(input: {{productId: "{one}", title: "T{number}"}})'
        f" {{ product {{ title {LARGEST} }} }}"
        for one in products
    ]
    text = f"mutation {{ {' '.join(writes)} }}"
    answer = await executed(number, world[0], None, OF_ALL, text)
    assert {error.extensions["code"] for error in answer.errors} == {"QUERY_TOO_COSTLY"}
    shown = {"title": f"T{number}", "group": {"comments": None}}
    assert answer.data == {products[0]: {"product": shown}, products[1]: None}
    assert limited < answer.extensions["cost"]["actual"]["rcu"] < 2 * limited
    details = await Stores(world[0]).products.details(products)
    assert details.keys() == {products[0]}
