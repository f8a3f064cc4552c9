"""Puts a caching proxy before a server: hit ratio, private data.

``python -m tests.trials.cdn`` serves the demo data, asks for hot product pages directly and through
nginx in turn, and then asks through nginx for all that is private. A careless nginx, which keeps
whatever it is answered, shows that what is looked for would be found. Debian's nginx-light does.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import orjson
import psutil
from rich.console import Console
from rich.table import Table

from tests.server.serving import Served, served
from tests.trials.cdn.nginx import Proxy, proxied
from tests.trials.cdn.private import DOCUMENTS, Found, prepare, search
from tools.bench.speed.generator import Answer, ask, request

CLIENTS = 16
PRODUCTS = [str(number) for number in range(1, 9)]
S_MAXAGE = 2
"""Seconds; short, so that a trial of some seconds sees pages asked for again."""


@dataclass
class Load:
    """What clients saw that asked for hot pages for some seconds."""

    url: str
    seconds: float
    answers: Counter[str] = field(default_factory=Counter)
    """By status, and by what the proxy said of it."""
    cpu: float = 0.0
    """Seconds of CPU that the server and its engine took."""
    _asked: int = 0
    _end: float = 0.0

    def run(self, server: Served) -> None:
        """Ask until the time is over."""
        self._end = time.perf_counter() + self.seconds
        before = _cpu(server)
        asyncio.run(ask(self.url, self, CLIENTS))
        self.cpu = _cpu(server) - before

    def next(self) -> tuple[int, bytes] | None:
        """Return the request for the next page."""
        if time.perf_counter() >= self._end:
            return None
        self._asked += 1
        variables = orjson.dumps({"id": PRODUCTS[self._asked % len(PRODUCTS)]}).decode()
        path = "/graphql?" + urlencode({"documentId": "page", "variables": variables})
        return 0, request(self.url, path)

    def note(self, number: int, answer: Answer) -> None:
        """Count an answer."""
        said = answer.head.partition(b"x-cache: ")[2].partition(b"\r")[0].decode()
        sound = answer.status == b"200" and b'"errors"' not in answer.body
        self.answers[said if sound else "failed"] += 1

    @property
    def pages(self) -> int:
        """Pages that came."""
        return self.answers.total() - self.answers["failed"]

    @property
    def hits(self) -> int:
        """Those that came from the store, fresh or while a new one was asked for."""
        return sum(self.answers[said] for said in ("hit", "stale", "updating", "revalidated"))


def _cpu(server: Served) -> float:
    processes = [psutil.Process(server.process.pid), server.engine()]
    return sum(sum(one.cpu_times()[:2]) for one in processes)


def shown(loads: dict[str, list[Load]]) -> Table:
    """Return what the loads saw, a way a line."""
    table = Table(title=f"{CLIENTS} clients, {len(PRODUCTS)} product pages, s-maxage {S_MAXAGE} s")
    for column in ("", "pages/s", "hit ratio", "server's CPU a page", "failed"):
        table.add_column(column, justify="right")
    for way, runs in loads.items():
        pages = sum(one.pages for one in runs)
        hits = sum(one.hits for one in runs)
        table.add_row(
            way,
            f"{pages / sum(one.seconds for one in runs):,.0f}",
            f"{hits / pages:.2%}" if hits else "",
            f"{sum(one.cpu for one in runs) / pages * 1_000:.3f} ms",
            str(sum(one.answers["failed"] for one in runs)),
        )
    return table


def kept(found: dict[str, Found]) -> Table:
    """Return what was found where it may not be, a proxy a line."""
    table = Table(title="What is private, asked for through the proxy")
    for column in ("", "requests", "answers kept", "private in the store", "shown to strangers"):
        table.add_column(column, justify="right")
    for proxy, one in found.items():
        private = str(len(one.in_store)), str(len(one.to_strangers))
        table.add_row(proxy, str(one.asked), str(one.stored), *private)
    return table


def misses(loads: dict[str, list[Load]], found: dict[str, Found]) -> list[str]:
    """Return what does not hold."""
    kept_well, careless = found["as it should be"], found["careless"]
    held = {
        "every page came": not any(
            one.answers["failed"] for runs in loads.values() for one in runs
        ),
        "pages are kept": all(one.hits > one.pages / 2 for one in loads["through nginx"]),
        "public pages stand in the store": kept_well.stored > 0,
        "nothing private in the store": not kept_well.in_store,
        "nothing private for strangers": not kept_well.to_strangers,
        "nothing from the store for who has signed in": not kept_well.hits,
        "a careless proxy is seen to keep what is private": bool(careless.in_store),
    }
    return [f"It does not hold that {what}." for what, holds in held.items() if not holds]


def trial(
    directory: Path, rounds: int, seconds: float
) -> tuple[dict[str, list[Load]], dict[str, Found]]:
    """Run the loads in turn, then search what proxies keep."""
    manifest = directory / "documents.json"
    manifest.write_bytes(orjson.dumps(DOCUMENTS))
    options = ("--demo", "--explain", "--documents", str(manifest), "--s-maxage", str(S_MAXAGE))
    with (
        served(directory / "data", *options) as server,
        proxied(directory / "nginx", server.url) as proxy,
        proxied(directory / "careless", server.url, careless=True) as careless,
    ):
        loads: dict[str, list[Load]] = {"directly": [], "through nginx": []}
        for _ in range(rounds):
            for way, url in zip(loads, (server.url, proxy.url), strict=True):
                loads[way].append(Load(url, seconds))
                loads[way][-1].run(server)
        secrets = prepare(server.url)
        proxies: dict[str, Proxy] = {"as it should be": proxy, "careless": careless}
        return loads, {name: search(one, secrets) for name, one in proxies.items()}


def main() -> None:
    """Run the trial, show what it saw, and exit with 1 where it does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each load")
    arguments = parser.parse_args()
    with TemporaryDirectory() as directory:
        loads, found = trial(Path(directory), arguments.rounds, arguments.seconds)
    console = Console(width=120)
    console.print(shown(loads))
    console.print(kept(found))
    missed = misses(loads, found)
    for miss in missed:
        console.print(miss)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
