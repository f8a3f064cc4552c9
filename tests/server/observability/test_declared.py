"""Documentation, dashboard and alert rules name the metrics that there are, and no others."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from server.observability.declared import METRICS, Declared
from server.observability.labels import OTHER, outcome_of, pattern_of, route_of
from tests.engines import ROOT

_NAME = re.compile(r"\bmarginalia_[a-z_]+[a-z]\b")

DASHBOARD = json.loads((ROOT / "deploy/grafana/marginalia.json").read_text("utf-8"))
ALERTS = (ROOT / "deploy/prometheus/alerts.yaml").read_text("utf-8")


def shown(metric: Declared) -> set[str]:
    """Return the names of a metric's series."""
    if metric.kind == "histogram":
        return {f"{metric.name}{suffix}" for suffix in ("_bucket", "_sum", "_count")}
    return {metric.shown}


SERIES = {name: one for one in METRICS for name in shown(one)}


def expressions(panels: list[dict[str, Any]]) -> Iterator[str]:
    for panel in panels:
        for target in panel.get("targets", []):
            yield target["expr"]


def test_the_page_shows_series_that_there_are() -> None:
    scrape = (ROOT / "docs/monitoring.md").read_text("utf-8").split("<!-- scrape -->")[1]
    named = re.findall(r"^(marginalia_\w+)(?:\{(.*)\})? \S+$", scrape, re.MULTILINE)
    assert len(named) > len(METRICS)
    for name, labels in named:
        assert set(re.findall(r'(\w+)="', labels)) == set(SERIES[name].labels)


@pytest.mark.parametrize("text", [*expressions(DASHBOARD["panels"]), ALERTS])
def test_dashboard_and_alerts_ask_for_series_with_labels_that_they_have(text: str) -> None:
    named = set(_NAME.findall(text))
    assert named
    assert named <= SERIES.keys()
    for name, selector in re.findall(r"(marginalia_\w+)\{([^}]*)\}", text):
        labels = set(re.findall(r"(\w+)=", selector)) - {"instance", "job"}
        assert labels <= set(SERIES[name].labels)


def test_every_metric_is_on_the_dashboard() -> None:
    text = " ".join(expressions(DASHBOARD["panels"]))
    missing = [one.name for one in METRICS if not shown(one) & set(_NAME.findall(text))]
    assert missing == []


@pytest.mark.parametrize("metric", METRICS, ids=lambda one: one.name)
def test_every_metric_is_named_as_prometheus_wants(metric: Declared) -> None:
    assert metric.name.startswith("marginalia_")
    assert not metric.name.endswith("_total")
    assert metric.text.endswith(".")


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
        ("/products-of-mine", OTHER),
        ("/metrics", OTHER),
    ],
)
def test_paths_are_few_routes(path: str, route: str) -> None:
    assert route_of({"type": "http", "path": path}) == route
    assert route_of({"type": "http", "path": f"/shop{path}", "root_path": "/shop"}) == route
    assert route_of({"type": "websocket", "path": path}) == "websocket"


def test_keys_are_few_patterns() -> None:
    key = {"PK": {"S": "COMMENT#1"}, "SK": {"S": "COMMENT#1"}}
    strange = {"PK": {"S": "ana#1"}, "SK": {"S": "x"}}
    assert pattern_of("get_item", {"Key": key}) == "AP4"
    assert pattern_of("get_item", {"Key": strange}) == OTHER
    assert pattern_of("batch_get_item", {"RequestItems": {"t": {"Keys": [key]}}}) == "AP4"
    batch = {"RequestItems": {"t": [{"PutRequest": {"Item": key}}]}}
    assert pattern_of("batch_write_item", batch) == "write comments"
    assert pattern_of("describe_table", {}) == OTHER
    assert pattern_of("get_item", {"Key": {}}) == OTHER
    unnamed = {"ExpressionAttributeValues": {":nothing": {"S": "NOTHING"}}}
    assert pattern_of("query", unnamed) == OTHER
    check = {"ConditionCheck": {"Key": {"PK": {"S": "COUNTING"}}}}
    actions = {"TransactItems": [check, {"Delete": {"Key": key}}]}
    assert pattern_of("transact_write_items", actions) == "write comments"
    assert pattern_of("transact_write_items", {"TransactItems": [check]}) == "write maintenance"
    assert outcome_of(TimeoutError()) == "cancelled"
