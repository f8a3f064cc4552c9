"""Reads and writes under every fault of the store.

    python -m tests.trials.faults [--write] [fault ...]

Prints a row for each fault and kind of work; ``--write`` puts the table in docs/reliability.md.
Ends with 1 when something acknowledged is missing, when one idempotency key made two comments, when
a page differs from the oracle, when `stats verify` finds a difference, when an answer came later
than a second after the deadline, when none came within five seconds of the fault's end, or when no
call met the fault.
"""

import argparse
import asyncio
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import psutil
from rich.console import Console

from dal.client.table import Table, TableAddress, connect
from dal.maintenance.tables import create_table
from dal.maintenance.verify import verify
from dal.model import Comment
from dal.stores import Stores
from tests import oracle
from tests.engines import ROOT, dynoxide
from tests.proxy import Proxy, nothing, proxy_of
from tests.server.serving import bearer
from tests.trials.faults.cases import READS, Case, cases
from tests.trials.faults.clients import (
    FIXED,
    Api,
    Count,
    Entry,
    Told,
    read,
    settle,
    until_answered,
    write,
)
from tests.trials.serving import serving

DEADLINE = 10.0
MARGIN = 1.0
RECOVERY = 5.0
SECONDS = 2.5
"""How long clients begin requests under a fault; they wait for the last ones' answers."""

CLIENTS = 6

DOCUMENT = ROOT / "docs/reliability.md"
_TABLE = re.compile(r"<!-- faults -->.*<!-- end -->", re.DOTALL)
_HEADING = (
    "Fault",
    "Work",
    "Requests",
    "What clients saw",
    "p50 s",
    "worst s",
    "calls/request",
    "back s",
    "lost",
    "doubled",
    "wrong pages",
    "verify",
)


@dataclass
class Row:
    """What one kind of work saw of one fault."""

    case: Case
    kind: str
    told: Told
    calls: int
    back: float
    """Seconds from the fault's end to the first answer."""
    count: Count
    differences: int

    def cells(self) -> list[str]:
        """Return the cells of the table."""
        asked = len(self.told.seconds)
        codes = ", ".join(f"{code} {count:,}" for code, count in self.told.codes.most_common())
        return [
            self.case.name,
            self.kind,
            f"{asked:,}",
            codes,
            f"{self.told.p50:.2f}",
            f"{self.told.worst:.1f}",
            f"{self.calls / asked:.1f}",
            f"{self.back:.1f}",
            str(self.count.lost),
            str(self.count.doubled),
            str(self.told.wrong),
            str(self.differences),
        ]

    def failings(self) -> Iterator[str]:
        """Yield what does not hold."""
        named = {
            "lost": self.count.lost,
            "doubled": self.count.doubled,
            "wrong pages": self.told.wrong,
            "differences": self.differences,
            "INTERNAL": self.told.codes["INTERNAL"],
            "no answer": self.told.codes["no answer"],
        }
        yield from (f"{count} {name}" for name, count in named.items() if count)
        if self.told.worst > DEADLINE + MARGIN:
            yield f"an answer after {self.told.worst:.1f} s"
        if self.back > RECOVERY:
            yield f"the first answer {self.back:.1f} s after the fault"
        if self.case.faults and not self.case.met:
            yield "no call met it"


@dataclass
class Trial:
    """A server that asks its engine through a proxy, and clients of both."""

    proxy: Proxy
    table: Table
    engine: psutil.Process
    client: httpx.AsyncClient
    rows: list[Comment]

    async def run(self, case: Case, kind: str) -> Row:
        """Do one kind of work under a fault, and see afterwards what became of it."""
        ledger: list[Entry] = []
        product = f"{case.name}-{kind}"
        api = Api(self.client)
        self.proxy.seen.clear()
        self.proxy.choose = case.choose
        with self._stopped() if not case.faults else _unstopped():
            await self._work(api, kind, ledger, product)
        calls = len(self.proxy.seen)
        self.proxy.choose = nothing
        after = Api(self.client)
        back = await until_answered(after)
        count = await settle(after, ledger, product)
        differences = len(await verify(self.table, lambda _: None))
        return Row(case, kind, api.told, calls, back, count, differences)

    async def _work(self, api: Api, kind: str, ledger: list[Entry], product: str) -> None:
        until = time.monotonic() + SECONDS
        works = (
            read(api, self.rows, until)
            if kind == READS
            else write(api, ledger, product, f"{number}", until)
            for number in range(CLIENTS)
        )
        await asyncio.gather(*works)

    @contextmanager
    def _stopped(self) -> Iterator[None]:
        self.engine.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.engine.send_signal(signal.SIGCONT)


@contextmanager
def _unstopped() -> Iterator[None]:
    yield


@asynccontextmanager
async def trial() -> AsyncIterator[Trial]:
    """Start an engine, a proxy and a server."""
    with TemporaryDirectory() as directory, dynoxide() as engine:
        (process,) = psutil.Process().children()
        async with connect(TableAddress(endpoint_url=engine, embedded=True)) as table:
            await create_table(table)
        async with (
            connect(TableAddress(endpoint_url=engine, embedded=True)) as table,
            proxy_of(engine) as proxy,
            serving(
                Path(directory), "--endpoint-url", proxy.url, "--deadline", str(DEADLINE)
            ) as server,
            httpx.AsyncClient(base_url=server.url, headers=bearer("ana"), timeout=60) as client,
        ):
            rows = oracle.make_comments(FIXED, 300, seed=11)
            await Stores(table).comments.put_many(rows)
            yield Trial(proxy, table, process, client, rows)


def table_of(rows: Sequence[Row]) -> str:
    """Return the table in Markdown."""
    lines = [_HEADING, ["---"] * len(_HEADING), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


async def main(wanted: Sequence[str], *, into_document: bool) -> int:
    """Run the faults whose names are ``wanted``, or all; return the exit status."""
    say = Console(soft_wrap=True, highlight=False)
    rows: list[Row] = []
    async with trial() as running:
        for case in cases():
            for kind in case.kinds if not wanted or case.name in wanted else ():
                row = await running.run(case, kind)
                rows.append(row)
                say.print("  ".join(row.cells()), *row.failings())
    table = table_of(rows)
    say.print(f"\n{table}")
    if into_document:
        made = f"<!-- faults -->\n{table}\n<!-- end -->"
        DOCUMENT.write_text(_TABLE.sub(lambda _: made, DOCUMENT.read_text()))
    return int(any(failing for row in rows for failing in row.failings()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("faults", nargs="*")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.faults, into_document=given.write)))
