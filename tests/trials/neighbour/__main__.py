"""Asks for pages beside somebody whose requests would hurt, and compares with a quiet time.

    python -m tests.trials.neighbour

Each attack is sent one request after the other for some seconds, between quiet ones. Ends with 1
when the neighbour's 99th percentile is beyond three times the quiet one, when the server keeps more
than 64 MB, or when anybody is answered with 5xx or INTERNAL.
"""

import asyncio
import itertools
import sys
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from dal.statistics.maintenance_mode import create_table
from dal.table.client import TableAddress, connect
from tests.engines import dynoxide
from tests.proxy import Choose, Proxy, nothing, proxy_of
from tests.trials.neighbour.asking import PAUSE, Client, Seen, neighbour
from tests.trials.neighbour.attacks import ATTACKS, FAULTS, HOLDS, Bodies, add_comment
from tests.trials.serving import serving

WRITERS = 8
TIMES = 3.0
KEPT_MB = 64


async def attack(client: Client, bodies: Bodies) -> Seen:
    """Send ``bodies`` over and over until it is cancelled."""
    seen = Seen()
    try:
        for body in itertools.cycle(bodies) if isinstance(bodies, list) else bodies:
            await client.ask(body, seen)
    except asyncio.CancelledError:
        return seen
    raise AssertionError("an attack ended by itself")


async def write(client: Client, proxy: Proxy, choose: Choose) -> Seen:
    """Write from several clients while the store fails them, until it is cancelled."""
    proxy.choose = choose
    writers = [asyncio.create_task(attack(client, [add_comment()])) for _ in range(WRITERS)]
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        proxy.choose = nothing
        for writer in writers:
            writer.cancel()
    seen = await asyncio.gather(*writers)
    return Seen(statuses=sum((one.statuses for one in seen), Counter()))


async def hold(client: Client, sent: bytes) -> Seen:
    """Keep 300 connections open that have sent no whole request, until it is cancelled."""
    held = [await asyncio.open_connection(*client._address) for _ in range(300)]
    for _, writer in held:
        writer.write(sent)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        for _, writer in held:
            writer.close()
    return Seen()


@dataclass(frozen=True)
class Row:
    """One attack: what the neighbour saw in quiet and beside it, and what the server kept."""

    name: str
    quiet: Seen
    beside: Seen
    attacker: Seen
    kept: float
    """Megabytes that the server has more than before."""

    @property
    def holds(self) -> bool:
        """Whether nobody was hurt."""
        return (
            self.beside.p99 <= TIMES * self.quiet.p99
            and self.kept <= KEPT_MB
            and not self.beside.faults
            and not self.attacker.faults
        )


Attacks = Mapping[str, Coroutine[Any, Any, Seen]]


async def rows_of(client: Client, server: psutil.Process, attacks: Attacks) -> list[Row]:
    """Run each attack between quiet times; a quiet figure is of the times on both of its sides.

    The neighbour has a process of its own: its clock must not wait for the attackers and the proxy.
    """
    loop, rows = asyncio.get_running_loop(), []
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        asked = partial(loop.run_in_executor, process, neighbour, client)
        await asked()  # what is made once is made before the first measurement
        quiet = await asked()
        for name, coroutine in attacks.items():
            before = server.memory_info().rss
            task = asyncio.create_task(coroutine)
            await asyncio.sleep(PAUSE)
            beside = await asked()
            task.cancel()
            attacker = await task
            after = await asked()
            around = Seen(quiet.slices + after.slices, quiet.statuses + after.statuses)
            kept = (server.memory_info().rss - before) / 1e6
            rows.append(Row(name, around, beside, attacker, kept))
            quiet = after
    return rows


async def trial() -> list[Row]:
    """Run all attacks: on a server with its own engine, and on one whose engine fails writers."""
    with TemporaryDirectory() as folder:
        async with serving(Path(folder), "--demo") as server:
            client = Client(server.url)
            attacks = {name: attack(client, bodies) for name, bodies in ATTACKS.items()}
            holds = {name: hold(client, sent) for name, sent in HOLDS.items()}
            rows = await rows_of(client, psutil.Process(server.process.pid), attacks | holds)
    with TemporaryDirectory() as folder, dynoxide() as engine:
        async with connect(TableAddress(endpoint_url=engine, embedded=True)) as table:
            await create_table(table)
        async with (
            proxy_of(engine) as proxy,
            serving(Path(folder), "--demo", "--endpoint-url", proxy.url) as server,
        ):
            client = Client(server.url)
            faults = {name: write(client, proxy, choose) for name, choose in FAULTS.items()}
            return rows + await rows_of(client, psutil.Process(server.process.pid), faults)


def report(rows: Iterable[Row]) -> bool:
    """Print the rows; return whether all of them hold."""
    table = Table("beside", "quiet p99 ms", "p99 ms", "times", "kept MB", "sent", "answers", "")
    rows = list(rows)
    for row in rows:
        statuses = ", ".join(f"{status}: {n:,}" for status, n in row.attacker.statuses.items())
        table.add_row(
            row.name,
            f"{row.quiet.p99:.1f}",
            f"{row.beside.p99:.1f}",
            f"{row.beside.p99 / row.quiet.p99:.1f}",
            f"{row.kept:.0f}",
            f"{row.attacker.statuses.total():,}",
            statuses,
            "" if row.holds else "too much",
        )
    Console(width=140).print(table)
    return all(row.holds for row in rows)


def main() -> int:
    """Run the trial; 0 when nobody was hurt."""
    return 0 if report(asyncio.run(trial())) else 1


if __name__ == "__main__":
    sys.exit(main())
