"""The alert rules, evaluated by Prometheus on the series of a server before and after an event."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from dal.dynamodb.errors import (
    CredentialsExpiredError,
    NoTableError,
    StoreDamagedError,
    StoreFullError,
)
from dal.dynamodb.table import Table
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


BEFORE, WITHIN = 8, 90
"""The number of scrapes before the event, and the seconds after it in which an operator knows."""


@pytest.mark.parametrize(
    ("error", "alerts"),
    [
        (RuntimeError("a bug"), {"MarginaliaFaults"}),
        (StoreFullError("full"), {"MarginaliaDiskFull"}),
        (StoreDamagedError("damaged"), {"MarginaliaRefused"}),
        (CredentialsExpiredError("expired"), {"MarginaliaRefused"}),
        (NoTableError("no table"), {"MarginaliaRefused", "MarginaliaFaults"}),
    ],
)
async def test_the_first_event_of_a_server_is_reported(
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


def test_errors_in_responses_with_status_200_are_reported(tmp_path: Path) -> None:
    """An outage of the store gives UNAVAILABLE. One error among many responses is no outage."""
    metrics = Metrics({})

    def answer(times: int, errors: int) -> Values:
        metrics.http_requests["graphql", "200"].inc(times)
        metrics.errors["UNAVAILABLE",].inc(errors)
        return scraped(metrics)

    quiet = [(BEFORE, answer(20, 0)), *((1, answer(20, 0)) for _ in range(8))]
    blip = [*quiet, (1, answer(20, 1)), *((1, answer(20, 0)) for _ in range(8))]
    outage = [*blip, *((1, answer(5, 5)) for _ in range(8))]
    began = EVERY * sum(times for times, _ in blip)
    assert fire(tmp_path, outage, began - 1, set()) == ""
    assert fire(tmp_path, outage, began + WITHIN, {"MarginaliaUnavailable"}) == ""


def test_a_death_of_a_worker_or_of_the_engine_is_reported(tmp_path: Path) -> None:
    restarts: list[float] = []
    vitals, registry = Vitals(restarts), CollectorRegistry()
    registry.register(vitals)

    def now() -> Values:
        return values_of(generate_latest(registry).decode())

    scrapes = [(BEFORE, now())]
    vitals.worker_deaths += 1
    scrapes.append((BEFORE, now()))
    restarts.append(0.0)
    scrapes.append((BEFORE, now()))
    died = {"MarginaliaWorkersDie"}
    assert fire(tmp_path, scrapes, BEFORE * EVERY - 1, set()) == ""
    assert fire(tmp_path, scrapes, BEFORE * EVERY + WITHIN, died) == ""
    assert fire(tmp_path, scrapes, 2 * BEFORE * EVERY - 1, died) == ""
    died.add("MarginaliaEngineDies")
    assert fire(tmp_path, scrapes, 2 * BEFORE * EVERY + WITHIN, died) == ""


def test_a_worker_without_a_sign_is_reported(tmp_path: Path) -> None:
    def seen(at: float) -> Values:
        return {("marginalia_worker_seen_timestamp_seconds", ()): at}

    signs = [(1, seen(float(EVERY * number))) for number in range(BEFORE)]
    scrapes = [*signs, (40, signs[-1][1])]
    stopped = (BEFORE - 1) * EVERY
    assert fire(tmp_path, scrapes, stopped, set()) == ""
    assert fire(tmp_path, scrapes, stopped + WITHIN, {"MarginaliaWorkerHangs"}) == ""
