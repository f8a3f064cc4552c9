"""The bill of a month uses the template's sizes and the prices that its formulas name."""

import pytest

from tests.deploy.template import of_type, template
from tools.bench.capacity import Consumed
from tools.bench.month import (
    ALARM_METRICS,
    HOURS,
    LOG_METRICS,
    MEMORY,
    SERVERS,
    VCPUS,
    Use,
    month,
    month_section,
)
from tools.bench.prices import PRICES, read_prices

USE = Use(
    view=Consumed(rcu=4),
    add=Consumed(wcu=9, rcu=1),
    move=Consumed(wcu=6, rcu=2),
    sent=2**20,
    logged=512,
    stored=2**12,
    item=2**10,
)


def test_the_stack_has_these_servers_and_alarms_by_default() -> None:
    of = {name: one.get("Default") for name, one in template()["Parameters"].items()}
    assert (of["Servers"], of["Cpu"], of["Memory"]) == (
        SERVERS,
        str(1024 * VCPUS),
        str(1024 * MEMORY),
    )
    alarms = [one for one in of_type("Alarm") if one.get("Condition") in {None, "Serves"}]
    metrics = [one["Properties"].get("Metrics", [{}]) for one in alarms]
    # An alarm on a sum of metrics costs as much as an alarm on each.
    assert sum(len(one) - (len(one) > 1) for one in metrics) == ALARM_METRICS
    names = {
        made["MetricName"]
        for one in of_type("MetricFilter")
        for made in one["Properties"]["MetricTransformations"]
    }
    assert len(names) == LOG_METRICS


def test_a_month_adds_up_what_views_and_adds_cost() -> None:
    prices = read_prices(PRICES)
    empty, full = (
        {one.name: one.price for one in month(prices, USE, *load)}
        for load in ((0, 0), (2_000_000, 2**20))
    )
    grown = {name: full[name] - empty[name] for name in full if full[name] != empty[name]}
    assert grown == pytest.approx(
        {
            "DynamoDB: views": 2 * 4 * 0.125,
            "DynamoDB: new comments": 2**20 / 1e6 * (15 * 0.625 + 3 * 0.125),
            "DynamoDB: storage": 12 * 4 * 0.25,
            "DynamoDB: point-in-time recovery": 12 * 0.2,
            "DynamoDB: one backup": 12 * 0.1,
            "load balancer: capacity units": 2_000_000 / 2**10 * 0.008,
            "data transfer": (2_000_000 / 2**10 - 100) * 0.09,
            "CloudWatch: access log": (2_000_000 + 2**20) * 512 / 2**30 * 0.5,
        }
    )
    assert empty["Fargate"] == pytest.approx(2 * HOURS * (0.04048 + 2 * 0.004445))
    assert empty["public IPv4 addresses"] == pytest.approx(4 * 3.65)
    section = month_section(prices, USE, [(2_000_000, 2**20)])
    assert section.rows[-1][1] == f"**{sum(full.values()):.2f}**"


def test_short_visits_pay_for_their_connections() -> None:
    prices = read_prices(PRICES)
    tiny = Use(USE.view, USE.add, USE.move, 1, USE.logged, USE.stored, USE.item)
    units = {one.name: one.price for one in month(prices, tiny, 25 * 3600 * HOURS, 0)}
    assert units["load balancer: capacity units"] == pytest.approx(HOURS * prices.lcu_hour)
