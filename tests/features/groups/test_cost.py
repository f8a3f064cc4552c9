"""The reads of a group's largest pages end at the limit of the operation."""

import pytest

from dal.stores import Stores
from schema.execution.cost import Cost
from tests.schema.execution.test_predicted_cost import (
    OF_ALL,
    SCHEMAS,
    World,
    costs_are_shown,
    executed,
    world,
)

__all__ = ["costs_are_shown", "world"]

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
