"""Writes to two servers of two workers, and compares every list.

``python -m tests.trials.processes`` sends each request to either server: adds with keys, some of
them twice at once or again later, edits that change rating and language, deletions. Meanwhile
others walk lists, each page at either server, some listen at both, and the workers of both servers
are replaced. Then all lists and counts are compared with what was acknowledged.
"""

import argparse
import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from tests.trials.processes.trial import Size, trial


def main() -> None:
    """Print a table; end with 1 where anything does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=400, help="of each of eight writers")
    parser.add_argument("--restarts", type=int, default=3, help="of each server's workers")
    given = parser.parse_args()
    size = Size(
        writers=8,
        writes_each=given.writes,
        walkers=4,
        listeners=8,
        lists=64,
        restarts=given.restarts,
    )
    with TemporaryDirectory() as directory:
        outcome = asyncio.run(trial(Path(directory), size))
    shown = Table("what", "number", title="Two servers of two workers over one table")
    for kind, count in sorted(outcome.writes.items()):
        shown.add_row(f"comments {kind.lower()}", f"{count:,}")
    shown.add_row("comments left", f"{outcome.rows:,}")
    shown.add_row("replacings of a server's workers", f"{2 * size.restarts:,}")
    shown.add_row("lists walked while others wrote", f"{outcome.walks:,}")
    shown.add_row("lists walked at rest", f"{outcome.walks_at_rest:,}")
    shown.add_row(f"events heard by {size.listeners} listeners", f"{outcome.events:,}")
    shown.add_row("differences found by stats verify", "0")
    shown.add_row("faults", f"{len(outcome.faults):,}")
    console = Console()
    console.print(shown)
    for fault in outcome.faults[:20]:
        console.print(fault)
    sys.exit(bool(outcome.faults))


if __name__ == "__main__":
    main()
