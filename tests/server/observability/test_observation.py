"""Labels have few values: routes, access patterns and outcomes."""

import re

import pytest

from dal.composition import KINDS
from pages.paths import PATHS
from pages.routes import _ROUTES
from server.observability.observation import OTHER, outcome_of, pattern_of
from server.observability.signals import open_signals, route_of
from server.settings import Settings


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/graphql", "graphql"),
        ("/health/ready", "health"),
        ("/", "page"),
        ("/products/a/b", "page"),
        ("/comments/1", "page"),
        ("/authors/ana", "page"),
        ("/playground", "page"),
        ("/static/pages/page.css", "static"),
        ("/widget.js", "static"),
        ("/widget", "page"),
        ("/widget/1", "page"),
        ("/products-of-mine", OTHER),
        ("/metrics", OTHER),
    ],
)
def test_paths_are_reported_as_a_small_number_of_routes(path: str, route: str) -> None:
    assert route_of({"type": "http", "path": path}, PATHS) == route
    assert route_of({"type": "http", "path": f"/shop{path}", "root_path": "/shop"}, PATHS) == route
    assert route_of({"type": "websocket", "path": path}, PATHS) == "websocket"


def test_every_page_has_the_route_page() -> None:
    paths = {re.sub(r"\{.*\}", "a/b", path) for _, path, _ in _ROUTES}
    assert {
        path for path in paths if route_of({"type": "http", "path": path}, PATHS) != "page"
    } == set()


async def test_each_kind_of_item_of_a_feature_has_its_own_pattern() -> None:
    labels = [one for kind in KINDS for one in kind.labels.items()]
    async with open_signals(Settings(metrics_port=0)) as signals:
        assert signals.metrics is not None
        assert sorted(signals.metrics.labels.items()) == sorted(labels)
    for prefix, label in labels:
        key = {"PK": {"S": f"{prefix}#1"}, "SK": {"S": "1"}}
        assert pattern_of("get_item", {"Key": key}, {}) == OTHER
        assert pattern_of("get_item", {"Key": key}, dict(labels)) == label


def test_keys_are_reported_as_a_small_number_of_patterns() -> None:
    key = {"PK": {"S": "COMMENT#1"}, "SK": {"S": "COMMENT#1"}}
    strange = {"PK": {"S": "ana#1"}, "SK": {"S": "x"}}
    assert pattern_of("get_item", {"Key": key}, {}) == "AP4"
    assert pattern_of("get_item", {"Key": strange}, {}) == OTHER
    recount = {"PK": {"S": "RECOUNT#1"}, "SK": {"S": "1"}}
    assert pattern_of("get_item", {"Key": recount}, {}) == "maintenance"
    assert pattern_of("batch_get_item", {"RequestItems": {"t": {"Keys": [key]}}}, {}) == "AP4"
    batch = {"RequestItems": {"t": [{"PutRequest": {"Item": key}}]}}
    assert pattern_of("batch_write_item", batch, {}) == "write comments"
    assert pattern_of("describe_table", {}, {}) == OTHER
    assert pattern_of("get_item", {"Key": {}}, {}) == OTHER
    unnamed = {"ExpressionAttributeValues": {":nothing": {"S": "NOTHING"}}}
    assert pattern_of("query", unnamed, {}) == OTHER
    check = {"ConditionCheck": {"Key": {"PK": {"S": "COUNTING"}}}}
    actions = {"TransactItems": [check, {"Delete": {"Key": key}}]}
    assert pattern_of("transact_write_items", actions, {}) == "write comments"
    assert pattern_of("transact_write_items", {"TransactItems": [check]}, {}) == "write maintenance"
    assert outcome_of(TimeoutError()) == "cancelled"
