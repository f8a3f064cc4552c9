"""The cost of operations with plans and ``planBy`` is predicted, and agrees with the plans."""

import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from resolvers.context import Context
from tests.calls import calls_of
from tests.oracle import make_comments
from tests.putting import put_comments
from tests.schema.conftest import STAFF
from tests.schema.execution.test_cost import (
    DROPPED_RCU,
    SCHEMA,
    cost_of,
    filled,
    maxima_of,
    product,
)
from tests.strategies import comment

__all__ = ["filled"]


@pytest.mark.parametrize(
    ("text", "calls", "values"),
    [
        (product("comments(first: 7) { plan { rows { segment } } }"), 1, 3 + 2 * 40),
        (product("comments(first: 7, planBy: COUNTS) { plan { rows { segment } } }"), 1, 3 + 80),
        (
            product(
                "comments(first: 7, rating: [1, 2], planBy: FULL_PAGES) { plan { rows "
                "{ segment } } }"
            ),
            2,
            3 + 2 * 14,
        ),
    ],
)
def test_the_cost_of_an_operation_is_predicted(text: str, calls: int, values: int) -> None:
    assert cost_of(text) == (calls, values)


@pytest.mark.parametrize(
    ("text", "requests", "rcu"),
    [
        (
            product("comments(first: 10, rating: [1, 2], planBy: FULL_PAGES) { nodes { id } }"),
            2 * 2 + 4 + 3,
            10 * (11 + 20) + DROPPED_RCU,
        ),
        (
            product(
                "comments(first: 10, orderBy: LOWEST_RATING, planBy: FULL_PAGES) { __typename }"
            ),
            5 + 2 + 4 + 3,
            10 * (14 + 5 * 10) + DROPPED_RCU,
        ),
        (
            product(
                "comments(first: 10, orderBy: MOST_HELPFUL, planBy: FULL_PAGES) { __typename }"
            ),
            2 + 2 + 4 + 3,
            10 * (11 + 2 * 10) + DROPPED_RCU,
        ),
    ],
)
def test_the_predicted_requests_and_capacity_are_maxima(
    text: str, requests: int, rcu: float
) -> None:
    assert maxima_of(text) == (requests, rcu)


async def test_a_plan_has_the_cost_of_its_operation(table: Table) -> None:
    stores = Stores(table)
    await put_comments(stores.comments, [comment(f"c{n}", product_id="42") for n in range(30)])
    context = Context(STAFF, stores)
    calls = calls_of(table)
    text = """{ product(productId: "42") { comments(first: 20) { nodes { id } plan {
        requests planningRequests consumedCapacity planningCapacity } } } }"""
    answer = await SCHEMA.execute(text, context_value=context, operation_extensions={"cost": True})
    assert (answer.errors, answer.data is None) == (None, False)
    assert answer.extensions is not None
    plan = answer.data["product"]["comments"]["plan"]  # type: ignore[index]
    assert answer.extensions["cost"] == {
        "predicted": {"requests": 2, "rcu": 220.0, "values": 47},
        "predictedCold": {"requests": 7, "rcu": 446.0, "values": 47},
        "actual": {
            "requests": len(calls),
            "rcu": plan["consumedCapacity"] + plan["planningCapacity"],
            "wcu": 0.0,
            "values": 47,
        },
    }
    assert len(calls) == plan["requests"] + plan["planningRequests"] > 0


async def test_an_operation_ends_before_it_costs_more_than_is_predicted(
    filled: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the plans is simulated: each Query of a filtered list reads one row."""
    monkeypatch.setattr("dal.query.executor.MIN_REFILL", 1)
    monkeypatch.setattr("dal.query.executor.MAX_REFILL", 1)
    listed = "comments(first: 1, rating: 5, verifiedOnly: true, planBy: NOTHING) { nodes { id } }"
    await put_comments(
        Stores(filled).comments,
        [one._replace(rating=1, verified_purchase=True) for one in make_comments("50", 80, seed=6)],
    )
    listed = product(f"a: {listed} b: {listed}").replace('"1"', '"50"')
    calls = calls_of(filled)
    answer = await SCHEMA.execute(
        listed,
        context_value=Context(STAFF, Stores(filled)),
        operation_extensions={"cost": True},
    )
    assert answer.extensions is not None
    cost = answer.extensions["cost"]
    codes = {(error.extensions or {})["code"] for error in answer.errors or []}
    assert codes == {"QUERY_TOO_COSTLY"}
    most = cost["predictedCold"]["requests"]
    assert cost["predicted"]["requests"] < len(calls) == cost["actual"]["requests"] <= most
