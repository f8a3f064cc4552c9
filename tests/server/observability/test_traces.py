"""Traces: their tree, their attributes, the secrets that they omit, and sampling."""

from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from dal.counts import mode
from dal.dynamodb.errors import StoreFullError, ThrottledError
from dal.dynamodb.table import Table
from schema.execution import documents
from server.observability import tracing
from server.observability.signals import Signals
from tests.bulk import fill
from tests.calls import calls_of
from tests.fakes import FaultyClient, refuse
from tests.server.observability.comments import COST, scarce
from tests.server.observability.observed import (
    SAMPLED,
    TRACE,
    Node,
    client_of,
    traced,
    tree_of,
)
from tests.server.serving import ADD, bearer

PAGE = """query Page { product(productId: "42") {
  comments(rating: [1, 5], first: 3) { nodes { commentId product { productId } } } } }"""


def attribute(nodes: list[Node], name: str) -> list[Any]:
    return [node.attributes[name] for node in nodes]


@pytest.mark.parametrize("plainly", [0, 1], ids=["compiled", "graphql-core"])
async def test_a_trace_contains_the_request_its_fields_and_each_call(
    table: Table, plainly: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "PLAINLY", plainly)
    await fill(table, scarce(160))
    calls_made = calls_of(table)
    exporter = InMemorySpanExporter()
    async with client_of(
        table, Signals(tracing=traced(exporter)), headers=bearer("sam", "staff")
    ) as client:
        answer = await client.post("/graphql", json={"query": PAGE} | COST)
    spent = answer.json()["extensions"]["cost"]["actual"]
    # Reads of the maintenance mode do not belong to the page. Each costs one RCU.
    beside = len([one for one in calls_made if one.arguments.get("Key") == mode.KEY])
    root = tree_of(exporter.get_finished_spans())
    assert root.name == "POST graphql"
    assert root.attributes["marginalia.read_units"] == spent["rcu"] + beside
    assert root.attributes["marginalia.request_id"] == answer.headers["x-request-id"]
    (operation,) = root.below
    assert operation.name == "query Page"
    (product,) = operation.below
    (comments,) = product.below
    assert (product.name, comments.name) == ("Query.product", "Product.comments")
    *statistics, plan = comments.below
    assert {one.name for one in statistics} <= {"DynamoDB Query", "DynamoDB GetItem"}
    assert plan.name == "plan AP3c"
    assert plan.attributes["marginalia.plan.index"] == "byRating"
    assert sorted(attribute(plan.below, "marginalia.segment.key")) == [
        "product=42 rating=1",
        "product=42 rating=5",
    ]
    calls = [call for segment in plan.below for call in segment.below]
    assert {call.name for call in calls} == {"DynamoDB Query"}
    assert set(attribute(calls, "aws.dynamodb.index_name")) == {"byRating"}
    rows = sum(attribute(calls, "aws.dynamodb.count"))
    assert rows == sum(attribute(plan.below, "marginalia.segment.rows"))
    assert rows == plan.attributes["marginalia.plan.items_read"]
    units = sum(attribute([*statistics, *calls], "marginalia.read_units"))
    assert units == spent["rcu"] + beside
    assert len(statistics) + len(calls) == spent["requests"] + beside


async def test_a_trace_shows_failures_and_retries(table: Table) -> None:
    exporter = InMemorySpanExporter()
    busy = ThrottledError("of ana's secret")
    table.service = FaultyClient(table.service, refuse(busy))
    async with client_of(table, Signals(tracing=traced(exporter))) as client:
        await client.post("/graphql", json={"query": '{ comment(commentId: "1") { title } }'})
    failed, done = [one for one in exporter.get_finished_spans() if one.name == "DynamoDB GetItem"]
    assert (failed.attributes or {})["error.type"] == "ThrottledError"
    assert not failed.status.is_ok
    assert "error.type" not in (done.attributes or {})
    field = next(one for one in exporter.get_finished_spans() if one.name == "Query.comment")
    assert [event.name for event in field.events] == ["retry"]


async def test_no_trace_contains_users_or_texts_of_clients(table: Table) -> None:
    """No names, tokens, texts, error messages, or keys of users and orders."""
    exporter = InMemorySpanExporter()
    text, name, field = "a text of a person", "person-of-that-name", "someones_field"
    comment = {"productId": "42", "rating": 5, "language": "en", "text": text, "title": text}
    asked = [
        (ADD, {"input": comment}),
        (
            "query ($name: String!) { user(username: $name) { orders { nodes { id } } } }",
            {"name": name},
        ),
        ("{ viewer { username } }", {}),
        ('{ product(productId: "42") { comments(first: 500) { nodes { text } } } }', {}),
        (f"query Q {{ product(productId: 1) {{ {name.replace('-', '_')} }} }}", {}),
    ]
    headers = bearer(name)
    async with client_of(table, Signals(tracing=traced(exporter)), headers=headers) as client:
        for query, variables in asked:
            await client.post(
                f"/graphql?from={name}", json={"query": query, "variables": variables}
            )
        await client.get(f"/{name}?user={name}")
    finished = exporter.get_finished_spans()
    told = "".join(one.to_json() for one in finished)
    assert {one.name for one in finished} >= {
        "DynamoDB TransactWriteItems",
        "User.orders",
        "plan A2",
    }
    for secret in (text, name, field, headers["Authorization"][-20:]):
        assert secret not in told


async def test_a_sampled_trace_of_the_client_continues_and_an_unsampled_one_does_not(
    table: Table,
) -> None:
    exporter = InMemorySpanExporter()
    body = {"query": "{ __typename }"}
    async with client_of(table, Signals(tracing=traced(exporter, sample=0.0))) as client:
        await client.post("/graphql", json=body)
        await client.post("/graphql", json=body, headers={"traceparent": SAMPLED[:-1] + "0"})
        await client.post("/graphql", json=body, headers={"traceparent": "nonsense"})
        await client.get("/health/live", headers={"traceparent": SAMPLED})
        assert exporter.get_finished_spans() == ()
        await client.post("/graphql", json=body, headers={"traceparent": SAMPLED})
    found = exporter.get_finished_spans()
    assert [one.name for one in found] == ["query anonymous", "POST graphql"]
    assert {one.context.trace_id for one in found if one.context} == {TRACE}


async def test_a_client_gets_a_limited_number_of_traces(table: Table) -> None:
    exporter = InMemorySpanExporter()
    headers = {"traceparent": SAMPLED}
    async with client_of(table, Signals(tracing=traced(exporter)), headers=headers) as client:
        for _ in range(tracing.MOST_TRACES + 5):
            await client.post("/graphql", json={"query": "{ __typename }"})
        requests = [one for one in exporter.get_finished_spans() if one.name == "POST graphql"]
        assert len(requests) == tracing.MOST_TRACES


async def test_a_large_operation_has_a_bounded_trace(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "MOST_SPANS", 5)
    exporter = InMemorySpanExporter()
    fields = " ".join(f'c{n}: comment(commentId: "{n}") {{ title }}' for n in range(10))
    async with client_of(table, Signals(tracing=traced(exporter))) as client:
        answer = await client.post("/graphql", json={"query": f"{{ {fields} }}"})
    assert answer.json()["data"] == {f"c{n}": None for n in range(10)}
    root = tree_of(exporter.get_finished_spans())
    assert len(root.lines()) == 1 + 5
    assert root.attributes["marginalia.spans_left_out"] > 0


async def test_the_requests_span_has_the_status_error_although_graphql_answers_200(
    table: Table,
) -> None:
    table.service = FaultyClient(table.service, refuse(StoreFullError("full")))
    exporter = InMemorySpanExporter()
    async with client_of(table, Signals(tracing=traced(exporter, 1.0))) as client:
        for query in ('{ comment(commentId: "1") { title } }', "{ nope }"):
            assert (await client.post("/graphql", json={"query": query})).status_code == 200
    spans = [one for one in exporter.get_finished_spans() if one.parent is None]
    assert [one.status.status_code for one in spans] == [StatusCode.ERROR, StatusCode.UNSET]
