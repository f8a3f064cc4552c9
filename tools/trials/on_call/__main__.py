"""Provokes faults of servers under load, and reports which alert fires after how many seconds.

Four servers of two workers run at the same time, each with its customers, and a real Prometheus
evaluates the alert rules with the documented configuration. Exits with 1 if:

- after a fault, no alert fires within 90 seconds
- more than one in a hundred answers is bad during a fault, but no alert of severity `page` fires
- an alert fires after a reload or before the first fault, or a reload fails a request
- a panel of the dashboard shows nothing.

``--write`` writes a table to docs/monitoring.md. Needs Debian's prometheus and redis-server, and
the right to mount a small file system in memory.
"""

import argparse
import asyncio
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import psutil

from dal.dynamodb.table import TableAddress, connect
from dal.maintenance.tables import create_table
from tests.engines import PROMETHEUS, ROOT, dynoxide
from tests.engines.redis import REDIS, RedisServer, redis_server
from tests.proxy import Fault, Proxy, always, nothing, proxy_of, refuse, slow
from tests.server.embedded import fill, mounted
from tests.server.observability.observed import metrics_of
from tests.server.serving import Served
from tests.server.workers.processes import workers_of
from tools.trials.on_call.customers import Customers, customers
from tools.trials.on_call.prometheus import Firing, Prometheus, watching
from tools.trials.reporting import CONSOLE, finish, show
from tools.trials.serving import serving

WITHIN = 90.0
"""Seconds from a fault until an alert must fire. A fault lasts as long."""

CALM = 60.0
"""Seconds before the first fault, in which no alert may fire."""

RECOVERY = 180.0
"""Maximum seconds between two faults of a server, unless the alerts of the first end earlier."""

NOTICED = 0.01
"""The share of bad answers above which an alert with the severity ``page`` must fire."""

OPTIONS = ("--workers", "2", "--metrics-port", "0", "--rate-limit", "off")

DOCUMENT = ROOT / "docs/monitoring.md"
_TABLE = re.compile(r"<!-- on call -->.*<!-- end -->", re.DOTALL)

UNSEEN = {"The follower", "Refills of a plan"}
"""Panels without series in this trial: nothing reads the table's stream, and no page needs a
second Query of a key range."""

Provoke: TypeAlias = Callable[[], AbstractContextManager[None]]


@dataclass
class Site:
    """A server with its customers, and what befalls it, in this order."""

    name: str
    served: Served
    customers: Customers
    faults: dict[str, Provoke]


@dataclass
class Row:
    """What customers saw of a fault, and which alerts rang."""

    fault: str
    began: float
    saw: dict[str, float]
    rang: list[Firing]

    def cells(self) -> list[str]:
        """Return the cells of the table's row."""
        saw = ", ".join(f"{share:.1%} {what}" for what, share in self.saw.items() if share)
        rings, ends = [], []
        for one in self.rang:
            rings.append(f"{one.alert} {one.since - self.began:.0f} ({one.severity})")
            ends.append("-" if one.until is None else f"{one.until - self.began:.0f}")
        return [self.fault, saw or "nothing", "\n".join(rings) or "none", "\n".join(ends)]

    def line(self) -> str:
        """Return the line of the table in the documentation."""
        saw = ", ".join(f"{share:.0%} {what}" for what, share in self.saw.items() if share)
        rang = ", ".join(
            f"`{one.alert}` {one.since - self.began:.0f} s"
            for one in self.rang
            if one.since - self.began <= WITHIN
        )
        return f"| {self.fault} | {saw or 'nothing'} | {rang or 'none'} |"

    def broken(self) -> Iterator[str]:
        """Yield the broken promises."""
        if self.fault == RELOAD:
            yield from (f"{self.fault}: {one.alert} rings" for one in self.rang)
            if self.saw["failed"]:
                yield f"{self.fault}: requests failed"
            return
        rang = [one for one in self.rang if one.since - self.began <= WITHIN]
        if not rang:
            yield f"{self.fault}: no alert within {WITHIN:.0f} s"
        elif max(self.saw.values()) > NOTICED and all(one.severity != "page" for one in rang):
            yield f"{self.fault}: customers notice it, and no alert pages within {WITHIN:.0f} s"


# --- faults ---

RELOAD = "reload (SIGHUP)"


@contextmanager
def reloaded(server: Served) -> Iterator[None]:
    before = workers_of(server)
    server.process.send_signal(signal.SIGHUP)
    yield
    assert not set(before) & set(workers_of(server)), "the workers were not replaced"


@contextmanager
def killed(find: Callable[[], psutil.Process]) -> Iterator[None]:
    find().kill()
    yield


@contextmanager
def stopped(find: Callable[[], psutil.Process]) -> Iterator[None]:
    process = find()
    process.suspend()
    try:
        yield
    finally:
        process.resume()


@contextmanager
def full(disk: Path) -> Iterator[None]:
    fill(disk / "ballast")
    yield
    (disk / "ballast").unlink()


@contextmanager
def away(redis: RedisServer) -> Iterator[None]:
    redis.kill()
    yield
    redis.start()


@contextmanager
def disturbed(proxy: Proxy, fault: Fault) -> Iterator[None]:
    proxy.choose = always(fault)
    yield
    proxy.choose = nothing


@contextmanager
def ended(server: Served) -> Iterator[None]:
    server.kill()
    yield


# --- servers ---


@asynccontextmanager
async def site(
    name: str,
    directory: Path,
    *options: str,
    faults: Callable[[Served], dict[str, Provoke]],
    subscribed: bool = False,
) -> AsyncIterator[Site]:
    """Run a server with its customers until the block ends."""
    async with (
        serving(directory, *OPTIONS, *options) as server,
        customers(server.url, subscribed=subscribed) as working,
    ):
        yield Site(name, server, working, faults(server))


@asynccontextmanager
async def beyond_proxy(
    name: str, directory: Path, faults: Callable[[Served, Proxy], dict[str, Provoke]]
) -> AsyncIterator[Site]:
    """Run a server whose requests to its engine go through a proxy."""
    with dynoxide() as engine:
        async with connect(TableAddress(endpoint_url=engine, embedded=True)) as table:
            await create_table(table)
        async with (
            proxy_of(engine) as proxy,
            site(
                name,
                directory,
                *("--endpoint-url", proxy.url),
                faults=lambda server: faults(server, proxy),
            ) as made,
        ):
            yield made


def processes(server: Served) -> dict[str, Provoke]:
    def worker() -> psutil.Process:
        return workers_of(server)[0]

    return {
        RELOAD: partial(reloaded, server),
        "worker stopped": partial(stopped, worker),
        "worker killed": partial(killed, worker),
        "engine killed": partial(killed, server.engine),
    }


def slowness(server: Served, proxy: Proxy) -> dict[str, Provoke]:
    throttled = refuse(400, "ProvisionedThroughputExceededException")
    return {
        "store slow (1.2 s)": partial(disturbed, proxy, slow(1.2)),
        "throttled": partial(disturbed, proxy, throttled),
    }


def refusals(server: Served, proxy: Proxy) -> dict[str, Provoke]:
    denied = refuse(400, "AccessDeniedException")
    return {
        "access denied": partial(disturbed, proxy, denied),
        "store 500": partial(disturbed, proxy, refuse(500, "InternalServerError")),
        "server killed": partial(ended, server),
    }


@asynccontextmanager
async def sites(folder: Path) -> AsyncIterator[list[Site]]:
    """Run all servers until the block ends."""
    async with AsyncExitStack() as stack:
        disk = stack.enter_context(mounted(folder / "disk", "size=48m"))
        redis = stack.enter_context(redis_server())

        def machine(server: Served) -> dict[str, Provoke]:
            return {
                "Redis away": partial(away, redis),
                "disk full": partial(full, disk),
                "engine stopped": partial(stopped, server.engine),
            }

        made = (
            site("processes", folder / "processes", faults=processes),
            site("disk", disk, "--redis-url", redis.url, faults=machine, subscribed=True),
            beyond_proxy("slow store", folder / "slow", slowness),
            beyond_proxy("refusing store", folder / "refusing", refusals),
        )
        yield [await stack.enter_async_context(one) for one in made]


async def provoke(one: Site, alerts: Prometheus) -> list[Row]:
    """Provoke the faults of a server, one after another."""
    rows: list[Row] = []
    for fault, provoked in one.faults.items():
        before = alerts.firing(one.name)
        began = time.monotonic()
        with provoked():
            await asyncio.sleep(WITHIN)
        rows.append(Row(fault, began, one.customers.saw(began, time.monotonic()), []))
        CONSOLE.print(f"{fault}: {', '.join(alerts.firing(one.name) - before) or 'none'}.")
        if fault != [*one.faults][-1]:
            await alerts.quiet(one.name, before, RECOVERY)
    return rows


async def trial(folder: Path) -> tuple[list[Row], list[str]]:
    """Provoke all faults. Return the rows of the table, and the broken promises."""
    async with sites(folder) as running:
        addresses = {one.name: metrics_of(one.served) for one in running}
        async with watching(folder, addresses) as alerts:
            await asyncio.sleep(CALM)
            calm = time.monotonic()
            found = await asyncio.gather(*(provoke(one, alerts) for one in running))
            empty = set(await alerts.empty_panels()) - UNSEEN
    broken = [f"{one.alert} rings without a fault" for one in alerts.firings if one.since < calm]
    for one, rows in zip(running, found, strict=True):
        for firing in alerts.firings:
            causes = [row for row in rows if row.began <= firing.since]
            if firing.server == one.name and causes:
                causes[-1].rang.append(firing)
    rows = [row for each in found for row in each]
    broken += [sentence for row in rows for sentence in row.broken()]
    return rows, [*broken, *(f"The panel {title} shows nothing" for title in sorted(empty))]


def main() -> None:
    """Run the trial and print its table."""
    if PROMETHEUS is None or REDIS is None:
        sys.exit("This trial needs Debian's packages prometheus and redis-server: install them.")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        rows, broken = asyncio.run(trial(Path(folder)))
    columns = ("fault", "customers saw", "alert rings after s", "ends after s")
    show("Seconds from each fault", columns, [row.cells() for row in rows])
    if given.write:
        heading = ["| fault | requests of customers | alerts |", "|---|---|---|"]
        table = "\n".join([*heading, *(row.line() for row in rows)])
        made = f"<!-- on call -->\n{table}\n<!-- end -->"
        DOCUMENT.write_text(_TABLE.sub(lambda _: made, DOCUMENT.read_text("utf-8")), "utf-8")
    finish(f"{sentence}." for sentence in broken)


if __name__ == "__main__":
    main()
