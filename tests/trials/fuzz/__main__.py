"""Sends a server requests that no client means, and counts what it answers.

    python -m tests.trials.fuzz --requests 100000 --family cycles floats

Prints a row for each family of requests. Ends with 1 when the server answered with 5xx or INTERNAL,
too late or not at all, wrote a traceback, kept a neighbour waiting for over a second, took or kept
too much memory, accepted what it must refuse, or read more than it predicted. The same seed sends
the same requests.
"""

import argparse
import asyncio
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.trials.beside import demo, report, rows_of
from tests.trials.fuzz.families import FAMILIES, attacks


def main() -> int:
    """Run the trial; 0 when nothing was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", nargs="+", default=[*FAMILIES], choices=FAMILIES)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        drawn = attacks(given.family, given.requests, given.seed)
        held = asyncio.run(report(rows_of(partial(demo, Path(folder)), drawn)))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
