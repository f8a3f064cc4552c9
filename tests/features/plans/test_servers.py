"""What a server with ``--explain`` shows."""

import pytest

from dal.dynamodb.table import Table
from server.observability.metrics import Metrics
from server.observability.signals import Signals
from server.settings import Settings
from tests.bulk import fill
from tests.server.applications import serving
from tests.server.observability.comments import scarce
from tests.server.observability.observed import by, client_of, scraped


@pytest.mark.parametrize("explain", [True, False])
async def test_plans_and_costs_are_shown_only_with_explain(table: Table, explain: bool) -> None:
    query = '{ product(productId: "41") { comments { nodes { title } plan { requests } } } }'
    async with serving(table, explain=explain) as client:
        answer = (await client.post("/graphql", json={"query": query})).json()
        query = query if explain else query.replace("plan { requests }", "")
        body = {"query": query, "extensions": {"cost": True}}
        extensions = (await client.post("/graphql", json=body)).json().get("extensions")
    if explain:
        page = {"nodes": [], "plan": {"requests": 1}}
        assert answer == {"data": {"product": {"comments": page}}}
    else:
        (error,) = answer["errors"]
        assert error["message"] == "Cannot query field 'plan' on type 'CommentConnection'."
    assert (extensions is not None) is explain
    if extensions is not None:
        assert extensions["cost"]["actual"]["requests"] > 0
        assert extensions["cost"]["predicted"]["requests"] > 0


async def test_the_metric_of_refills_agrees_with_the_plan(table: Table) -> None:
    """All selected comments of the newer half are rated 5. The counts do not contain this."""
    await fill(table, scarce(400))
    metrics = Metrics({})
    query = """query ($rating: [Int!]) { product(productId: "42") {
      comments(rating: $rating, first: 15) { plan { segments { refills } } } } }"""
    body = {"query": query, "variables": {"rating": [1, 5]}}
    async with client_of(table, Signals(metrics), Settings(explain=True)) as client:
        answer = await client.post("/graphql", json=body)
    segments = answer.json()["data"]["product"]["comments"]["plan"]["segments"]
    refills = by(scraped(metrics), "marginalia_plan_refills_total", "access_pattern")
    assert sum(refills.values()) == sum(one["refills"] for one in segments) > 0
