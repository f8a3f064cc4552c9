"""The documentation, the dashboard and the alert rules name only existing metrics."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest
from prometheus_client import Metric
from prometheus_client.metrics import MetricWrapperBase

from dal.dynamodb.table import Table
from features.live.redis_metrics import redis_up
from features.stream_counting.follower_metrics import FollowerMetrics
from server.observability.metrics import Load, Metrics, StateSampler
from server.observability.outcomes import OUTCOMES
from server.observability.vitals import Vitals
from tests.engines import ROOT

_NAME = re.compile(r"\bmarginalia_[a-z_]+[a-z]\b")

DASHBOARD = json.loads((ROOT / "deploy/grafana/marginalia.json").read_text("utf-8"))
ALERTS = (ROOT / "deploy/prometheus/alerts.yaml").read_text("utf-8")


def every_metric() -> list[tuple[Metric, Sequence[str]]]:
    """Return each metric with the names of its labels."""
    metrics = Metrics({})
    StateSampler(metrics, lambda: None, cast(Table, None), cast(Load, None))
    FollowerMetrics(metrics, lambda: None)
    redis_up(metrics)
    wrappers = cast(list[MetricWrapperBase], list(metrics.registry._collector_to_names))
    vitals = [(one, tuple(one.samples[0].labels)) for one in Vitals().collect()]
    return [*((family, one._labelnames) for one in wrappers for family in one.describe()), *vitals]


METRICS = every_metric()


def shown_as(metric: Metric) -> str:
    """Return a metric's name in Prometheus."""
    return f"{metric.name}_total" if metric.type == "counter" else metric.name


def series_of(metric: Metric) -> set[str]:
    """Return the names of the series of a metric."""
    name = shown_as(metric)
    if metric.type == "histogram":
        return {f"{name}{suffix}" for suffix in ("_bucket", "_sum", "_count")}
    return {name}


LABELS = {name: set(labels) for one, labels in METRICS for name in series_of(one)}


def expressions(panels: list[dict[str, Any]]) -> Iterator[str]:
    for panel in panels:
        for target in panel.get("targets", []):
            yield target["expr"]


@pytest.mark.parametrize("text", [*expressions(DASHBOARD["panels"]), ALERTS])
def test_dashboard_and_alerts_use_existing_series_and_labels(text: str) -> None:
    named = set(_NAME.findall(text))
    assert named
    assert named <= LABELS.keys()
    for name, selector in re.findall(r"(marginalia_\w+)\{([^}]*)\}", text):
        labels = set(re.findall(r"(\w+)(?:=|!=)", selector)) - {"instance", "job"}
        assert labels <= LABELS[name]


def test_every_failure_of_the_store_has_an_alert() -> None:
    """The readiness check does not fail during throttling, on a full disk or after failed
    writes.
    """
    named = re.findall(r'marginalia_dynamodb_requests_total\{outcome=~?"([^"]+)"', ALERTS)
    alerted = {outcome for one in named for outcome in one.split("|")}
    everyday = {"condition_failed"}
    assert alerted == set(OUTCOMES.values()) - everyday


def test_every_metric_is_shown_on_the_dashboard() -> None:
    shown = set(_NAME.findall(" ".join(expressions(DASHBOARD["panels"]))))
    assert [one.name for one, _ in METRICS if not series_of(one) & shown] == []


def test_the_documentation_has_every_metric_with_its_labels() -> None:
    page = (ROOT / "docs/monitoring.md").read_text("utf-8")
    rows = []
    for metric, names in METRICS:
        labels = ", ".join(f"`{one}`" for one in names)
        rows.append(f"| `{shown_as(metric)}` | {labels} | {metric.documentation} |")
    table = "\n".join(["| metric | labels | what it shows |", "|---|---|---|", *rows])
    assert table in page
