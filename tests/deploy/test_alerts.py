"""The alert rules, evaluated by Prometheus on the series of a server before and after an event."""

import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from dal.dynamodb.errors import (
    CredentialsExpiredError,
    NoTableError,
    StoreDamagedError,
    StoreFullError,
)
from dal.dynamodb.table import Table
from features.live.redis_metrics import redis_up
from server.observability.metrics import Metrics
from server.observability.signals import Signals
from server.observability.vitals import Vitals
from tests.engines import ROOT
from tests.fakes import FaultyClient, refuse
from tests.server.observability.observed import Values, client_of, scraped, values_of

RULES = ROOT / "deploy/prometheus/alerts.yaml"
PROMTOOL = shutil.which("promtool")
TEXT: Any = {"capture_output": True, "text": True}
EVERY = 15
"""Seconds between two scrapes."""

pytestmark = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is missing: apt-get install prometheus"
)


def test_rules_are_valid() -> None:
    assert PROMTOOL is not None
    checked = subprocess.run([PROMTOOL, "check", "rules", RULES], check=False, **TEXT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def fire(folder: Path, scrapes: Iterable[tuple[int, Values]], at: int, expected: set[str]) -> str:
    """Let Prometheus evaluate the rules. Return how the alerts differ from the expected alerts.

    ``scrapes`` has how often each result was scraped, and ``at`` is the time in seconds.
    """
    assert PROMTOOL is not None
    scrapes = list(scrapes)
    series = []
    for name, labels in sorted({key for _, values in scrapes for key in values}):
        values = " ".join(
            f"{found[name, labels]}x{times - 1}" if (name, labels) in found else f"_x{times}"
            for times, found in scrapes
        )
        named = {"job": "marginalia", "instance": "a", **dict(labels)}
        shown = ",".join(f'{label}="{value}"' for label, value in named.items())
        series.append({"series": f"{name}{{{shown}}}", "values": values})
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "15s",
        "tests": [
            {
                "interval": f"{EVERY}s",
                "input_series": series,
                "promql_expr_test": [
                    {
                        "expr": 'group by (alertname) (ALERTS{alertstate="firing"})',
                        "eval_time": f"{at}s",
                        "exp_samples": [
                            {"labels": f'{{alertname="{name}"}}', "value": 1} for name in expected
                        ],
                    }
                ],
            }
        ],
    }
    file = folder / "rules.json"
    file.write_bytes(orjson.dumps(test))
    done = subprocess.run([PROMTOOL, "test", "rules", file], check=False, **TEXT)
    return "" if done.returncode == 0 else done.stdout + done.stderr


BEFORE = 8
"""The number of scrapes before the event."""

PHASES = 2 * EVERY
"""The maximum time from an event to its evaluation: until the next scrape, and from there until the
next evaluation of the rules. In these tests an event happens at a scrape, which is evaluated at
once."""

WITHIN = 90 - PHASES
"""Seconds after an event in which an operator knows of it."""

Scrapes = list[tuple[int, Values]]

FAILURES = [
    (RuntimeError("a bug"), {"MarginaliaFaults"}),
    (StoreFullError("full"), {"MarginaliaDiskFull"}),
    (StoreDamagedError("damaged"), {"MarginaliaRefused"}),
    (CredentialsExpiredError("expired"), {"MarginaliaRefused"}),
    (NoTableError("no table"), {"MarginaliaRefused", "MarginaliaFaults"}),
]


@pytest.mark.parametrize(("error", "alerts"), FAILURES)
async def test_the_first_failure_of_the_store_rings(
    table: Table, tmp_path: Path, error: Exception, alerts: set[str]
) -> None:
    metrics = Metrics({})
    async with client_of(table, Signals(metrics)) as client:
        before = scraped(metrics)
        table.service = FaultyClient(table.service, refuse(error), refuse(error))
        await client.post("/graphql", json={"query": '{ comment(commentId: "1") { title } }'})
        after = scraped(metrics)
    scrapes = [(BEFORE, before), (40, after)]
    assert fire(tmp_path, scrapes, BEFORE * EVERY - 1, set()) == ""
    assert fire(tmp_path, scrapes, BEFORE * EVERY + WITHIN, alerts) == ""


def gauge(name: str, *values: tuple[int, float]) -> Scrapes:
    return [(times, {(name, ()): value}) for times, value in values]


def server_down() -> tuple[Scrapes, Scrapes]:
    return gauge("up", (BEFORE, 1)), gauge("up", (40, 0))


def store_away() -> tuple[Scrapes, Scrapes]:
    name = "marginalia_dynamodb_circuit_open"
    return gauge(name, (BEFORE, 0)), gauge(name, (40, 1))


def redis_away() -> tuple[Scrapes, Scrapes]:
    metrics = Metrics({})
    up = redis_up(metrics)
    up.set(True)
    before = scraped(metrics)
    up.set(False)
    return [(BEFORE, before)], [(40, scraped(metrics))]


def counts_late() -> tuple[Scrapes, Scrapes]:
    """The alert allows a lag of five minutes, and rings when it has lasted for five more."""
    name = "marginalia_follower_counted_until_timestamp_seconds"
    counted = [(1, float(EVERY * number)) for number in range(BEFORE)]
    return gauge(name, *counted, (600 // EVERY, counted[-1][1])), gauge(name, (40, counted[-1][1]))


def worker_hangs() -> tuple[Scrapes, Scrapes]:
    name = "marginalia_worker_seen_timestamp_seconds"
    signs = [(1, float(EVERY * number)) for number in range(BEFORE)]
    return gauge(name, *signs), gauge(name, (40, signs[-1][1]))


def third_start() -> tuple[Scrapes, Scrapes]:
    """An operator may restart a server twice."""
    name = "marginalia_start_time_seconds"
    return gauge(name, (BEFORE, 1), (4, 100), (4, 200)), gauge(name, (60, 300))


def served_by(answer: Callable[[Metrics, int], None], bad: int) -> tuple[Scrapes, Scrapes]:
    """Scrape a server of good answers, and then with ``bad`` bad answers between two scrapes."""
    metrics = Metrics({})
    before: Scrapes = []
    after: Scrapes = []
    for scrapes, count in ((before, 0), (after, bad)):
        for _ in range(BEFORE):
            answer(metrics, count)
            scrapes.append((1, scraped(metrics)))
    return before, after


def server_errors(bad: int = 5) -> tuple[Scrapes, Scrapes]:
    def answer(metrics: Metrics, bad: int) -> None:
        metrics.http_requests["page", "200"].inc(20)
        metrics.http_requests["page", "500"].inc(bad)

    return served_by(answer, bad)


def errors_with_status_200(bad: int = 5, code: str = "UNAVAILABLE") -> tuple[Scrapes, Scrapes]:
    def answer(metrics: Metrics, bad: int) -> None:
        metrics.http_requests["graphql", "200"].inc(20)
        metrics.errors[code,].inc(bad)

    return served_by(answer, bad)


def busy() -> tuple[Scrapes, Scrapes]:
    def answer(metrics: Metrics, bad: int) -> None:
        metrics.http_requests["graphql", "200"].inc(20)
        metrics.http_requests["refused", "503"].inc(bad)

    return served_by(answer, 2 * EVERY)


def slow(bad: int = EVERY // 2) -> tuple[Scrapes, Scrapes]:
    """A customer comes each second. During the fault, half of them wait."""

    def answer(metrics: Metrics, bad: int) -> None:
        for number in range(EVERY):
            seconds = 1.3 if number < bad else 0.01
            metrics.operation_seconds["Page", "query"].observe(seconds)

    return served_by(answer, bad)


def engine_dies() -> tuple[Scrapes, Scrapes]:
    restarts: list[float] = []
    vitals = Vitals(restarts)
    before = vital(vitals)
    restarts.append(0.0)
    return [(BEFORE, before)], [(40, vital(vitals))]


def worker_dies() -> tuple[Scrapes, Scrapes]:
    vitals = Vitals()
    before = vital(vitals)
    vitals.worker_deaths += 1
    return [(BEFORE, before)], [(40, vital(vitals))]


def vital(vitals: Vitals) -> Values:
    registry = CollectorRegistry()
    registry.register(vitals)
    return values_of(generate_latest(registry).decode())


EVENTS = {
    "MarginaliaDown": server_down,
    "MarginaliaStoreAway": store_away,
    "MarginaliaRedisAway": redis_away,
    "MarginaliaFollowerBehind": counts_late,
    "MarginaliaWorkerHangs": worker_hangs,
    "MarginaliaRestarts": third_start,
    "MarginaliaServerErrors": server_errors,
    "MarginaliaUnavailable": errors_with_status_200,
    "MarginaliaBusy": busy,
    "MarginaliaVerySlow": slow,
    "MarginaliaEngineDies": engine_dies,
    "MarginaliaWorkersDie": worker_dies,
}


@pytest.mark.parametrize("alert", EVENTS)
def test_the_first_event_rings(alert: str, tmp_path: Path) -> None:
    before, after = EVENTS[alert]()
    began = EVERY * sum(times for times, _ in before)
    assert fire(tmp_path, [*before, *after], began - 1, set()) == ""
    assert fire(tmp_path, [*before, *after], began + WITHIN, {alert}) == ""


def test_throttling_of_the_store_rings_as_an_outage(tmp_path: Path) -> None:
    before, after = errors_with_status_200(code="THROTTLED")
    began = EVERY * len(before)
    assert fire(tmp_path, [*before, *after], began + WITHIN, {"MarginaliaUnavailable"}) == ""


def test_every_alert_that_pages_is_tested_by_its_first_event() -> None:
    rules = yaml.safe_load(RULES.read_text("utf-8"))["groups"][0]["rules"]
    paging = {rule["alert"] for rule in rules if rule["labels"]["severity"] == "page"}
    assert paging <= EVENTS.keys() | set[str]().union(*(alerts for _, alerts in FAILURES))


@pytest.mark.parametrize("answers", [server_errors, errors_with_status_200, slow])
def test_a_single_bad_answer_among_many_rings_nothing(
    tmp_path: Path, answers: Callable[[int], tuple[Scrapes, Scrapes]]
) -> None:
    before, ((_, once), *_) = answers(1)
    assert fire(tmp_path, [*before, (40, once)], EVERY * len(before) + WITHIN, set()) == ""
