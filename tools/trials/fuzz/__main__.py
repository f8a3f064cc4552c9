"""Sends malformed and hostile requests to a server, and counts its responses.

Prints a row for each family of requests. The same seed sends the same requests. Exits with 1 if the
server:

- responds with 5xx or INTERNAL, too late, or not at all
- logs a traceback, or its memory grows too much
- delays another client by more than 200 ms
- accepts a request that it must refuse, or reads more than it predicted.
"""

import argparse
import asyncio
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.trials.attack import demo, report, rows_of
from tools.trials.fuzz.families import FAMILIES, attacks
from tools.trials.reporting import finish


def main() -> None:
    """Run the trial and print its rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", nargs="+", default=[*FAMILIES], choices=FAMILIES)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        drawn = attacks(given.family, given.requests, given.seed)
        finish(asyncio.run(report(rows_of(partial(demo, Path(folder), "--federation"), drawn))))


if __name__ == "__main__":
    main()
