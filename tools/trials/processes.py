"""Writes to two servers of two workers over one table, and compares every list.

Each request goes to one of the servers. Clients add comments with keys, sometimes twice
concurrently, edit ratings and languages, and delete comments. Meanwhile other clients read lists,
with each page from one of the servers, listeners listen at both, and the workers of both are
replaced. Afterwards all lists and counts, and what the listeners show, are compared with the
acknowledged writes.
"""

import argparse
import asyncio
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from dal.model import RATINGS
from tests.server.workers.processes import others, workers_of
from tools.trials.ledger import PAGE, Client, Ledger, listening, outdated, servers
from tools.trials.listeners import Listener
from tools.trials.reporting import finish, show


async def trial(
    directory: Path,
    *,
    writes: int,
    restarts: int,
    writers: int = 8,
    lists: int = 64,
    workers: Sequence[int] = (2, 2),
) -> tuple[dict[str, int], list[str]]:
    """Run the trial. Return what was done, and the faults.

    A failed request raises AssertionError.
    """
    ledger, ended = Ledger(), asyncio.Event()
    listeners = [Listener(number, "steady") for number in range(writers)]
    async with servers(directory, workers) as served:
        urls = [server.url for server in served]
        clients = [Client(urls, number, ledger) for number in range(writers + writers // 2)]
        walkers = clients[writers:]
        async with listening(listeners, urls, ledger):
            walking = asyncio.gather(*(one.walk_until(ended) for one in walkers))
            writing = asyncio.gather(*(one.write(writes) for one in clients[:writers]))
            for server in [*served] * restarts:
                old = workers_of(server)
                server.process.send_signal(signal.SIGHUP)
                await others(server, old, len(old))
            await writing
            ended.set()
            await walking
        faults = [fault for one in walkers for fault in one.faults]
        counts = Counter(row.rating for row in ledger.rows.values())
        for number in range(2 * lists):
            filters, at = walkers[0].filters(), number % 2
            if await walkers[0].walk(filters, at) != ledger.listed(filters):
                faults.append(f"{filters}: another list at server {at + 1}, at rest.")
            shown = (await walkers[0].ask(PAGE, at, first=1))["product"]["statistics"]["histogram"]
            if {one["rating"]: one["count"] for one in shown} != {n: counts[n] for n in RATINGS}:
                faults.append(f"Server {at + 1} counts {shown}, and there are {counts}.")
        for client in clients:
            await client.close()
    faults += outdated(listeners, ledger)
    done = dict(Counter(ledger.writes)) | {
        "comments left": len(ledger.rows),
        "lists walked during writes": sum(one.walks for one in walkers),
        "lists walked at rest": 2 * lists,
        "events heard": sum(one.events for one in listeners),
        "workers' replacements": len(served) * restarts,
        "faults": len(faults),
    }
    return done, faults


def main() -> None:
    """Run the trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=400, help="of each of eight writers")
    parser.add_argument("--restarts", type=int, default=3, help="of each server's workers")
    given = parser.parse_args()
    with TemporaryDirectory() as directory:
        done, faults = asyncio.run(
            trial(Path(directory), writes=given.writes, restarts=given.restarts)
        )
    rows = [(what, f"{number:,}") for what, number in done.items()]
    show("Two servers of two workers over one table", ("what", "number"), rows)
    finish(faults[:20])


if __name__ == "__main__":
    main()
