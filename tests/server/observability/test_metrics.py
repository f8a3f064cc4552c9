"""Metrics agree with the requests that were sent, and with the costs in the responses."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, SimpleNamespace
from typing import Any

from graphql import GraphQLError
from starlette.types import Message, Receive, Scope, Send

from dal.counts import mode
from dal.dynamodb.errors import StoreUnavailableError, ThrottledError
from dal.dynamodb.table import Table
from dal.stores import Stores
from pages.paths import PATHS
from server.observability.metrics import Metrics, StateSampler
from server.observability.observation import OPERATIONS, Observation, OperationNames, note_errors
from server.observability.signals import ObservedApp, Signals
from tests.bulk import fill
from tests.calls import calls_of
from tests.engines import ROOT
from tests.fakes import FaultyClient, refuse
from tests.putting import put_comments
from tests.server.observability.comments import COST, comments_of, scarce
from tests.server.observability.observed import by, client_of, scraped, value
from tests.server.serving import ADD, bearer

PAGE = """query Page($rating: [Int!], $after: String) { product(productId: "42") {
  comments(rating: $rating, first: 3, after: $after) { nodes { commentId } } } }"""


async def test_capacity_requests_and_latencies_are_those_of_the_responses(table: Table) -> None:
    await put_comments(Stores(table).comments, comments_of(30))
    calls, metrics = calls_of(table), Metrics({})
    spent = {"requests": 0, "rcu": 0.0, "wcu": 0.0, "values": 0}
    asked = [None, [5], [1, 3], [5], [4, 5]]
    async with client_of(table, Signals(metrics), headers=bearer("sam", "staff")) as client:
        for rating in asked:
            body = {"query": PAGE, "variables": {"rating": rating}, **COST}
            answer = (await client.post("/graphql", json=body)).json()
            for name, amount in answer["extensions"]["cost"]["actual"].items():
                spent[name] += amount
    found = scraped(metrics)
    assert value(found, "marginalia_http_requests_total", route="graphql", status="200") == 5
    operations = "marginalia_operation_seconds_count"
    assert value(found, operations, operation="Page", type="query") == 5
    assert by(found, "marginalia_plans_total", "access_pattern") == {
        "AP1": 1,
        "AP3b": 2,
        "AP3c": 2,
    }
    assert sum(by(found, "marginalia_dynamodb_requests_total", "outcome").values()) == len(calls)
    # Reads of the maintenance mode do not belong to the page. Each costs one RCU.
    beside = [call for call in calls if call.arguments.get("Key") == mode.KEY]
    asked_for = spent["requests"] + len(beside)
    assert by(found, "marginalia_dynamodb_requests_total", "outcome") == {"ok": asked_for}
    units = by(found, "marginalia_dynamodb_capacity_units_total", "unit")
    assert units == {"read": spent["rcu"] + len(beside)}
    patterns = by(found, "marginalia_dynamodb_capacity_units_total", "access_pattern")
    assert patterns.keys() == {"AP1", "AP3b", "AP3c", "statistics", "maintenance"} & patterns.keys()
    assert spent["rcu"] > patterns["AP3c"] > 0


async def test_writes_are_counted_by_the_kind_of_object(table: Table) -> None:
    metrics = Metrics({})
    comment = {"productId": "9", "rating": 5, "language": "en", "text": "here"}
    body = {"query": ADD, "variables": {"input": comment}}
    async with client_of(table, Signals(metrics), headers=bearer("ana", "staff")) as client:
        answer = (await client.post("/graphql", json=body | COST)).json()
    spent = answer["extensions"]["cost"]["actual"]
    found = scraped(metrics)
    capacity = "marginalia_dynamodb_capacity_units_total"
    assert value(found, capacity, unit="write", access_pattern="write comments") == spent["wcu"] > 0


async def test_refills_are_counted(table: Table) -> None:
    """All selected comments of the newer half are rated 5. The counts do not contain this."""
    await fill(table, scarce(400))
    metrics = Metrics({})
    query = """query ($rating: [Int!]) { product(productId: "42") {
      comments(rating: $rating, first: 15) { nodes { id } } } }"""
    body = {"query": query, "variables": {"rating": [1, 5]}}
    async with client_of(table, Signals(metrics)) as client:
        await client.post("/graphql", json=body)
    refills = by(scraped(metrics), "marginalia_plan_refills_total", "access_pattern")
    assert sum(refills.values()) > 0


async def test_failed_attempts_and_codes_are_counted(table: Table) -> None:
    metrics = Metrics({})
    away = StoreUnavailableError("away")
    table.service = FaultyClient(table.service, refuse(away), refuse(ThrottledError("busy")))
    async with client_of(table, Signals(metrics)) as client:
        await client.post("/graphql", json={"query": '{ comment(commentId: "1") { title } }'})
        await client.post("/graphql", json={"query": "{ nope }"})
        await client.post("/graphql", json={"documentId": "unknown"})
        await client.post("/graphql", content=b"[")
        await client.get("/nowhere")
    found = scraped(metrics)
    outcomes = by(found, "marginalia_dynamodb_requests_total", "outcome")
    assert (outcomes["unavailable"], outcomes["throttled"]) == (1, 1)
    assert by(found, "marginalia_errors_total", "code") == {"BAD_REQUEST": 1, "NOT_FOUND": 1}
    requests = by(found, "marginalia_http_requests_total", "status")
    assert requests == {"200": 3, "415": 1, "404": 1}


async def test_an_observation_is_counted_once() -> None:
    async def answer() -> dict[str, Any]:
        return {"Count": 2, "Items": [{}, {}]}

    metrics = Metrics({})
    observation = Observation(metrics)
    await observation.call("query", {"ExpressionAttributeValues": {}}, answer)
    observation.write()
    observation.write()  # changes nothing
    outcomes = by(scraped(metrics), "marginalia_dynamodb_requests_total", "outcome")
    assert outcomes == {"ok": 1}


async def test_metrics_count_the_work_of_each_piece_of_a_response() -> None:
    """The response of a subscription can last for hours, so its metrics may not wait for
    its end.
    """
    metrics, at_once = Metrics({}), []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for code in ("THROTTLED", "UNAVAILABLE"):
            note_errors([GraphQLError("", extensions={"code": code})])
            await send({"type": scope["of"]})

    async def send(message: Message) -> None:
        at_once.append(by(scraped(metrics), "marginalia_errors_total", "code"))

    async def unheard() -> Message:
        return {}

    observed = ObservedApp(app, Signals(metrics), PATHS, lambda scope: True)
    for piece, kind in (("websocket.send", "websocket"), ("http.response.body", "http")):
        at_once.clear()
        await observed({"type": kind, "path": "/graphql", "of": piece}, unheard, send)
        assert at_once[1]["UNAVAILABLE"] == at_once[0]["THROTTLED"]
        assert at_once[0].get("UNAVAILABLE", 0) < at_once[1]["UNAVAILABLE"]


async def test_metrics_that_are_off_have_no_port(table: Table) -> None:
    """Then a page calls no function of observability, and the API has no address for metrics."""
    await put_comments(Stores(table).comments, comments_of(30))
    body = {"query": PAGE, "variables": {"rating": [1, 3]}}
    called = []
    for signals in (Signals(Metrics({})), Signals()):
        async with client_of(table, signals) as client:
            with observing_calls() as found:
                answer = (await client.post("/graphql", json=body)).json()
            called.append(found)
            assert len(answer["data"]["product"]["comments"]["nodes"]) == 3
            assert (await client.get("/metrics")).status_code == 404
    assert {"ObservedApp.__call__", "Observation.call", "Observation.write"} <= called[0]
    assert called[1] == set()


@contextmanager
def observing_calls() -> Iterator[set[str]]:
    """Record the calls of functions of ``server/observability`` in the block."""
    found: set[str] = set()
    here = str(ROOT / "server/observability")

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(here):
            found.add(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


async def test_a_scrape_reads_the_current_state_of_the_server(table: Table) -> None:
    metrics = Metrics({})
    background = Observation(metrics)
    load = SimpleNamespace(running=3, waiting=2, refused=7)
    sampler = StateSampler(metrics, background.write, table, load)
    sampler.sample(0.25)
    found = scraped(metrics)
    assert by(found, "marginalia_requests", "state") == {"running": 3, "waiting": 2}
    assert value(found, "marginalia_event_loop_late_seconds") == 0.25
    table._gate.breaker._next_probe = 1.0
    background.failed("INTERNAL")
    load.running, load.waiting, load.refused = 0, 1, 9
    sampler.sample(0.0)
    found = scraped(metrics)
    assert by(found, "marginalia_requests", "state") == {"waiting": 1}
    assert by(found, "marginalia_http_requests_total", "route") == {"refused": 9}
    assert value(found, "marginalia_dynamodb_circuit_open") == 1
    assert value(found, "marginalia_errors_total", code="INTERNAL") == 1


def test_metrics_have_a_bounded_number_of_operation_names() -> None:
    names = OperationNames()
    found = {names.label(f"Name{number}", trusted=False) for number in range(10 * OPERATIONS)}
    assert found == {"other", *(f"Name{number}" for number in range(OPERATIONS))}
    assert names.label("Registered", trusted=True) == "Registered"
    assert names.label("x" * 1_000, trusted=False) == "other"
    assert names.label(None, trusted=False) == "anonymous"
