"""Reads and writes under every fault of the store, and under kills of the server.

Arguments select faults by name. ``--mode stream`` counts by a follower, which is killed with the
server. During the kills, `stats rebuild` runs once. ``--write`` writes the table to
docs/reliability.md. Exits with 1 if an acknowledged write is missing, an idempotency key added two
comments, a page differs from the oracle, the statistics of a product or language differ from its
comments, or `stats verify` finds a difference. Also exits with 1 if a response is missing, is
INTERNAL, or comes later than a second after the deadline, if none comes within five seconds after
the fault's end, or if no request met the fault.
"""

import argparse
import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import psutil

from dal.dynamodb.table import Table, TableAddress, connect
from dal.maintenance.tables import create_table
from dal.model import Comment
from dal.stores import Stores
from tests import oracle
from tests.engines import ROOT, dynoxide
from tests.proxy import Proxy, nothing, proxy_of
from tests.putting import put_comments
from tests.server.serving import AWS, bearer, called
from tests.verifying import verify
from tools.trials.faults.cases import READS, WRITES, Case, cases
from tools.trials.faults.clients import (
    ASPECTS,
    FIXED,
    OK,
    Api,
    Count,
    Entry,
    Outcomes,
    Writer,
    read,
    recount,
    settle,
    until_answered,
)
from tools.trials.faults.restarts import Restarts, restarting
from tools.trials.reporting import CONSOLE, finish

DEADLINE = 10.0
MARGIN = 1.0
RECOVERY = 5.0
SECONDS = 2.5
"""The seconds in which clients send requests under a fault. They wait for the last responses."""

PRODUCTS = 3

CAUGHT_UP = 60
"""Maximum seconds in which the follower counts the last writes."""

TRANSACTIONAL, STREAM = "transactional", "stream"

DOCUMENT = ROOT / "docs/reliability.md"
_TABLE = re.compile(r"<!-- faults -->.*<!-- end -->", re.DOTALL)
_HEADING = ("Fault", "Work", "Answers", "p50 s", "worst s", "back s", "wrong", "met")


@dataclass
class Row:
    """The results of reads or writes under one fault."""

    case: Case
    kind: str
    outcomes: Outcomes
    back: float
    """The seconds from the fault's end to the first response."""
    count: Count
    differences: int
    statistics: list[str]
    """The wrong statistics of products."""

    def cells(self) -> list[str]:
        """Return the cells of the table's row."""
        codes = ", ".join(f"{code} {count:,}" for code, count in self.outcomes.codes.most_common())
        return [
            self.case.name,
            self.kind,
            codes,
            f"{self.outcomes.p50:.2f}",
            f"{self.outcomes.worst:.1f}",
            f"{self.back:.1f}",
            str(sum(self._wrong().values())),
            f"{self.case.met:,}",
        ]

    def _wrong(self) -> dict[str, int]:
        return {
            "lost": self.count.lost,
            "doubled": self.count.doubled,
            "wrong pages": self.outcomes.wrong,
            "differences": self.differences,
            "wrong statistics": len(self.statistics),
        }

    def failings(self) -> Iterator[str]:
        """Yield descriptions of the broken promises."""
        named = self._wrong() | {"INTERNAL": self.outcomes.codes["INTERNAL"]}
        if not self.case.kills:
            named["no response"] = self.outcomes.codes["no response"]
        yield from (f"{count} {name}" for name, count in named.items() if count)
        yield from self.statistics
        if self.outcomes.worst > DEADLINE + MARGIN:
            yield f"a response after {self.outcomes.worst:.1f} s"
        if self.back > RECOVERY:
            yield f"the first response {self.back:.1f} s after the fault"
        if (self.case.faults or self.case.kills) and not self.case.met:
            yield "no call met the fault"


@dataclass
class Trial:
    """A server that reaches its engine through a proxy, and a client of the server."""

    proxy: Proxy
    table: Table
    engine: psutil.Process
    server: Restarts
    rows: list[Comment]
    chance: random.Random

    async def run(self, case: Case, kind: str) -> Row:
        """Read or write during a fault, and verify the table afterwards."""
        ledger: list[Entry] = []
        products = [f"{case.name}-{kind}-{number}" for number in range(PRODUCTS)]
        api, after = Api(self.server.client), Api(self.server.client)
        self.proxy.seen.clear()
        case.met = 0
        self.proxy.choose = case.choose
        if not case.faults and not case.kills:
            self.engine.suspend()
        until = time.monotonic() + SECONDS
        kills: asyncio.Task[int] | None = None
        if case.kills:
            kills = asyncio.create_task(
                self.server.kill_during_a_rebuild(lambda: api.outcomes.codes[OK], self.chance)
            )

        def ended() -> bool:
            return time.monotonic() >= until if kills is None else kills.done()

        clients = [Writer(api, ledger, products, f"{n}", self.chance) for n in range(case.clients)]
        works = (
            read(api, self.rows, until) if kind == READS else one.write(ended, self.server.ready)
            for one in clients
        )
        try:
            await asyncio.gather(*works)
        finally:
            self.engine.resume()
        self.proxy.choose = nothing
        if kills is not None:
            case.met = await kills
        back = await until_answered(after)
        count = await settle(after, ledger, products)
        differences = await self._differences()
        statistics = [one for product in products for one in await recount(after, product)]
        return Row(case, kind, api.outcomes, back, count, differences, statistics)

    async def _differences(self) -> int:
        """Verify the table. In mode stream, wait until the follower has counted all writes."""
        began = time.monotonic()
        while found := len(await verify(self.table, lambda _: None)):
            if not self.server.follows or time.monotonic() - began > CAUGHT_UP:
                break
        return found


@asynccontextmanager
async def trial(mode: str, seed: int) -> AsyncIterator[Trial]:
    """Run an engine, a proxy and a server."""
    with TemporaryDirectory() as directory, dynoxide() as engine:
        (process,) = psutil.Process().children()
        async with connect(TableAddress(endpoint_url=engine, embedded=True)) as table:
            await create_table(table)
        if mode == STREAM:
            call = partial(called, "stats", "rebuild", "--mode", mode, "--endpoint-url", engine)
            (await asyncio.to_thread(call, **AWS)).check_returncode()
        async with (
            connect(TableAddress(endpoint_url=engine, embedded=True)) as table,
            proxy_of(engine) as proxy,
            httpx.AsyncClient(headers=bearer("ana"), timeout=60) as client,
        ):
            options = ["--deadline", str(DEADLINE), "--aspects", ",".join(ASPECTS)]
            options += ["--endpoint-url", proxy.url, "--rate-limit", "off"]
            server = Restarts(client, Path(directory), options, engine, mode == STREAM)
            rows = oracle.make_comments(FIXED, 300, seed=11)
            await put_comments(Stores(table).comments, rows)
            async with restarting(server):
                yield Trial(proxy, table, process, server, rows, random.Random(seed))


async def run(wanted: Sequence[str], mode: str, seed: int) -> list[Row]:
    """Run the faults with the names ``wanted``, or all faults if there are no names."""
    rows: list[Row] = []
    async with trial(mode, seed) as running:
        for case in cases():
            for kind in case.kinds if not wanted or case.name in wanted else ():
                rows.append(await running.run(case, kind))
                CONSOLE.print("  ".join(rows[-1].cells()), *rows[-1].failings())
    return rows


def _table(lines: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _short(rows: Iterable[Row]) -> Iterator[Sequence[str]]:
    """Yield the lines of the table in the documentation, with reads and writes side by side."""
    yield "Fault", "Reads", "worst s", "Writes", "worst s"
    yield from [["---"] * 5]
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row.case.name, {})[row.kind] = row
    for fault, kinds in found.items():
        pairs = [kinds[kind].cells() if kind in kinds else ["-"] * 8 for kind in (READS, WRITES)]
        yield [fault, *(cell for cells in pairs for cell in (cells[2], cells[4]))]


def main() -> None:
    """Run the trial and print its table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("faults", nargs="*")
    parser.add_argument("--mode", choices=[TRANSACTIONAL, STREAM], default=TRANSACTIONAL)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    CONSOLE.print(f"mode {given.mode}, seed {given.seed}")
    rows = asyncio.run(run(given.faults, given.mode, given.seed))
    lines = [_HEADING, ["---"] * len(_HEADING), *(row.cells() for row in rows)]
    CONSOLE.print(f"\n{_table(lines)}")
    if given.write:
        made = f"<!-- faults -->\n{_table(_short(rows))}\n<!-- end -->"
        DOCUMENT.write_text(_TABLE.sub(lambda _: made, DOCUMENT.read_text()))
    finish(f"{row.case.name}, {row.kind}: {one}." for row in rows for one in row.failings())


if __name__ == "__main__":
    main()
