"""Runs deploy/nginx.conf in front of a server: its rules, its hits, and a search for private data.

The server has the demo data. The trial checks the rules for TLS, live comments and limits. Clients
request popular product pages, in turn from the server and through nginx. Then all private data are
requested through nginx. Another nginx stores every response, which shows that the search finds
private data. Needs Debian's nginx-light.
"""

import argparse
import asyncio
import ssl
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import orjson
import psutil

from tests.server.serving import Served, served
from tools.bench.speed.generator import Answer, ask, request
from tools.trials.cdn.nginx import CARELESS, UNLIMITED, Proxy, proxied
from tools.trials.cdn.private import DOCUMENTS, Found, prepare, search
from tools.trials.cdn.rules import Rule, rules
from tools.trials.reporting import finish, show

CLIENTS = 16
PRODUCTS = [str(number) for number in range(1, 9)]
S_MAXAGE = 2
"""The maximum age of a page in seconds. It is short, so that pages expire during the trial. For as
many more seconds, the proxy may send an old page while it requests a new one."""


@dataclass
class Load:
    """The responses to clients that request popular pages for ``seconds``."""

    url: str
    seconds: float
    tls: ssl.SSLContext | None
    answers: Counter[str] = field(default_factory=Counter)
    """The number of responses by nginx's header X-Cache, or "failed"."""
    cpu: float = 0.0
    """The processor time of the server and its engine, in seconds."""
    _asked: int = 0
    _end: float = 0.0

    def run(self, server: Served) -> None:
        """Send requests until ``seconds`` are over."""
        self._end = time.perf_counter() + self.seconds
        before = _cpu(server)
        asyncio.run(ask(self.url, self, CLIENTS, tls=self.tls))
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
        """Count a response."""
        cached = answer.head.partition(b"x-cache: ")[2].partition(b"\r")[0].decode()
        sound = answer.status == b"200" and b'"errors"' not in answer.body
        self.answers[cached if sound else "failed"] += 1

    @property
    def pages(self) -> int:
        """The number of responses with a page."""
        return self.answers.total() - self.answers["failed"]

    @property
    def hits(self) -> int:
        """The number of pages that came from nginx's store, fresh or stale."""
        return sum(self.answers[one] for one in ("hit", "stale", "updating", "revalidated"))


def _cpu(server: Served) -> float:
    processes = [psutil.Process(server.process.pid), server.engine()]
    return sum(sum(one.cpu_times()[:2]) for one in processes)


def _row(way: str, runs: list[Load]) -> list[str]:
    pages, hits = sum(one.pages for one in runs), sum(one.hits for one in runs)
    return [
        way,
        f"{pages / sum(one.seconds for one in runs):,.0f}",
        f"{hits / pages:.2%}" if hits else "",
        f"{sum(one.cpu for one in runs) / pages * 1_000:.3f} ms",
        str(sum(one.answers["failed"] for one in runs)),
    ]


def misses(seen: list[Rule], loads: dict[str, list[Load]], found: dict[str, Found]) -> list[str]:
    """Return a sentence for each broken promise."""
    careful, careless = found["careful"], found["careless"]
    held = {one.what: one.holds for one in seen} | {
        "no request fails": not any(
            one.answers["failed"] for runs in loads.values() for one in runs
        ),
        "half of the pages come from the store": all(
            one.hits > one.pages / 2 for one in loads["through nginx"]
        ),
        "public pages are in the store": careful.stored > 0,
        "no private data in the store": not careful.in_store,
        "no private data for strangers": not careful.to_strangers,
        "no signed-in user gets a stored page": not careful.hits,
        "the careless proxy stores private data": bool(careless.in_store),
    }
    return [f"Broken: {what}." for what, holds in held.items() if not holds]


def trial(
    directory: Path, rounds: int, seconds: float
) -> tuple[list[Rule], dict[str, list[Load]], dict[str, Found]]:
    """Check the rules, run the loads in turn, then search the stores of two proxies."""
    manifest = directory / "documents.json"
    manifest.write_bytes(orjson.dumps(DOCUMENTS))
    options = ["--demo", "--documents", str(manifest), "--s-maxage", str(S_MAXAGE)]
    options += ["--stale-while-revalidate", str(S_MAXAGE)]
    with (
        served(directory / "data", *options) as server,
        proxied(directory / "usual", server.url, {}) as usual,
        proxied(directory / "nginx", server.url, UNLIMITED) as proxy,
        proxied(directory / "careless", server.url, CARELESS) as careless,
    ):
        seen = list(rules(usual, proxy, longest=2 * S_MAXAGE + 1))
        loads: dict[str, list[Load]] = {"directly": [], "through nginx": []}
        for _ in range(rounds):
            for way, url, tls in (
                ("directly", server.url, None),
                ("through nginx", proxy.url, proxy.tls),
            ):
                loads[way].append(Load(url, seconds, tls))
                loads[way][-1].run(server)
        secrets = prepare(server.url)
        proxies: dict[str, Proxy] = {"careful": proxy, "careless": careless}
        return seen, loads, {name: search(one, secrets) for name, one in proxies.items()}


def main() -> None:
    """Run the trial and print its numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each load")
    arguments = parser.parse_args()
    with TemporaryDirectory() as directory:
        seen, loads, found = trial(Path(directory), arguments.rounds, arguments.seconds)
    show("Rules of deploy/nginx.conf", ("", "seen"), [(one.what, one.seen) for one in seen])
    show(
        f"{CLIENTS} clients, {len(PRODUCTS)} product pages, s-maxage {S_MAXAGE} s",
        ("", "pages/s", "hit ratio", "server's CPU a page", "failed"),
        [_row(way, runs) for way, runs in loads.items()],
    )
    show(
        "Private data, requested through the proxy",
        ("", "requests", "responses stored", "private in the store", "shown to strangers"),
        [
            (proxy, *map(str, (one.asked, one.stored, len(one.in_store), len(one.to_strangers))))
            for proxy, one in found.items()
        ],
    )
    finish(misses(seen, loads, found))


if __name__ == "__main__":
    main()
