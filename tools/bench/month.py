"""The bill of a month on Amazon: DynamoDB, servers, network, logs and backups.

The month has a number of views of a product's page and a number of new comments. The stack is
``deploy/cloudformation.yaml`` with its default sizes, and with the access log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from tools.bench.capacity import Consumed
from tools.bench.prices import Prices
from tools.bench.report import Section

LOADS = [(views, views // 100) for views in (100_000, 1_000_000, 10_000_000, 100_000_000)]
"""The numbers of views and adds in a month of docs/costs.md."""

HOURS = 730
"""Hours of a month."""

GB = 2**30

SERVERS, VCPUS, MEMORY = 2, 1, 2
"""The stack's default number of servers, and a server's vCPUs and GB of memory."""

ZONES = 2
"""Availability zones of the load balancer. It has an address and sends health checks in each."""

ALARM_METRICS, LOG_METRICS = 8, 1
"""The metrics that the stack's alarms read, and those of them that filters make from the log.
Amazon charges a query for each metric that it finds. Throttles and errors of DynamoDB are metrics
only while they happen, so a query counts as one metric."""

_HEALTH_CHECKS = 360
"""Health checks of a server in an hour, from each availability zone."""
_HEALTH_LINE = 250
"""Bytes of a health check's line in the access log."""

_WORKER_READS = 2
"""Consistent reads of one item that a worker sends every five seconds."""

_KEPT_MONTHS = 12
_CONNECTIONS = 25
"""New connections a second in a capacity unit of the load balancer. Each view opens one."""


@dataclass(frozen=True, slots=True)
class Use:
    """What one view and one new comment consume."""

    view: Consumed
    add: Consumed
    move: Consumed
    """The move of a product on leaderboards after an add."""
    sent: int
    """Bytes of a page with its headers, compressed."""
    logged: int
    """Bytes of a line in the access log."""
    stored: int
    """Bytes of a comment in the table and in all indexes."""
    item: int
    """Bytes of a comment in the table alone, without its rows in indexes."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the bill: its price in a month, and how it is computed, in words."""

    name: str
    formula: str
    price: float


def rounded_up(size: int, to: int) -> int:
    """Return the next multiple of ``to``, so that a byte more does not change the bill."""
    return ceil(size / to) * to


def month(prices: Prices, use: Use, views: int, adds: int) -> list[Item]:
    """Return the items of a month's bill."""
    health_checks = SERVERS * ZONES * _HEALTH_CHECKS * HOURS
    reads = SERVERS * _WORKER_READS * HOURS * 3_600 / 5
    kept = _KEPT_MONTHS * adds / GB
    sent = views * use.sent / GB
    addresses = SERVERS + ZONES
    add = Consumed(wcu=use.add.wcu + use.move.wcu, rcu=use.add.rcu + use.move.rcu)
    hour = VCPUS * prices.vcpu_hour + MEMORY * prices.memory_hour
    logged = ((views + adds) * use.logged + health_checks * _HEALTH_LINE) / GB
    units = max(sent / HOURS, views / (HOURS * 3600 * _CONNECTIONS))
    return [
        Item(
            "DynamoDB: views",
            f"views x {use.view.rcu:g} RCU",
            views * prices.of(use.view) / 1e6,
        ),
        Item(
            "DynamoDB: new comments",
            f"adds x ({add.wcu:g} WCU + {add.rcu:g} RCU), for an add and a move on leaderboards",
            adds * prices.of(add) / 1e6,
        ),
        Item(
            "DynamoDB: idle servers",
            f"{SERVERS} servers x {_WORKER_READS} RCU every five seconds",
            reads * prices.read_units / 1e6,
        ),
        Item(
            "DynamoDB: storage",
            f"the comments of {_KEPT_MONTHS} months x {use.stored:,} bytes x {prices.storage:g}",
            kept * use.stored * prices.storage,
        ),
        Item(
            "DynamoDB: point-in-time recovery",
            f"the same comments x {use.item:,} bytes, without indexes x {prices.recovery:g}",
            kept * use.item * prices.recovery,
        ),
        Item(
            "DynamoDB: one backup",
            f"the same bytes x {prices.backup:g}",
            kept * use.item * prices.backup,
        ),
        Item(
            "Fargate",
            f"{SERVERS} servers x {HOURS} hours x ({VCPUS} vCPU x {prices.vcpu_hour:g} + "
            f"{MEMORY} GB x {prices.memory_hour:g})",
            SERVERS * HOURS * hour,
        ),
        Item(
            "load balancer",
            f"{HOURS} hours x {prices.balancer_hour:g}",
            HOURS * prices.balancer_hour,
        ),
        Item(
            "load balancer: capacity units",
            f"{HOURS} hours x {prices.lcu_hour:g} x the larger of GB sent an hour, and views a "
            f"second / {_CONNECTIONS}",
            HOURS * prices.lcu_hour * units,
        ),
        Item(
            "public IPv4 addresses",
            f"({SERVERS} of servers + {ZONES} of the load balancer) x "
            f"{HOURS} hours x {prices.address_hour:g}",
            addresses * HOURS * prices.address_hour,
        ),
        Item(
            "data transfer",
            f"(views x {use.sent:,} bytes, less {prices.free_transfer:g} free GB) x "
            f"{prices.transfer:g}",
            max(0.0, sent - prices.free_transfer) * prices.transfer,
        ),
        Item(
            "CloudWatch: access log",
            f"((views + adds) x {use.logged} bytes + {health_checks:,} health checks x "
            f"{_HEALTH_LINE} bytes) x {prices.logs:g}",
            logged * prices.logs,
        ),
        Item(
            "CloudWatch: alarms",
            f"{ALARM_METRICS} metrics of alarms x {prices.alarm:g} + {LOG_METRICS} metric of the "
            f"log x {prices.metric:g}",
            ALARM_METRICS * prices.alarm + LOG_METRICS * prices.metric,
        ),
        Item("Secrets Manager", f"one secret x {prices.secret:g}", prices.secret),
    ]


def month_section(prices: Prices, use: Use, loads: Sequence[tuple[int, int]]) -> Section:
    """Return a table with a column for each load: its numbers of views and adds in a month."""
    months = [month(prices, use, *load) for load in loads]
    rows = [
        [of_all[0].name, *(f"{one.price:.2f}" for one in of_all)]
        for of_all in zip(*months, strict=True)
    ]
    sums = [sum(one.price for one in items) for items in months]
    rows.append(["**all**", *(f"**{one:.2f}**" for one in sums)])
    columns = [f"{views:,} views, {adds:,} adds" for views, adds in loads]
    return Section(f"A month, in {prices.currency}", ["item", *columns], rows)


def formulas(prices: Prices, use: Use) -> list[str]:
    """Return a line for each item: how its price is computed."""
    return [f"- **{one.name}**: {one.formula}" for one in month(prices, use, 0, 0)]
