"""Counts what hot spots cost on DynamoDB as AWS documents it, on a simulated clock.

    python -m tests.trials.hotspots --beside ../before --write

``--beside`` drives another checkout's code the same way, so as to compare. The same code gives the
same figures on any machine, but for what hangs on random ids. Ends with 1 when a figure of this
code is beyond its bound.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from tests.engines import ROOT, dynoxide

Found: TypeAlias = Mapping[str, Mapping[str, float]]
"""The figures of each case, which its first sentence names."""

BOUNDS = {
    "throttled at the board": 0,
    "refused to their clients": 0,
    "most RCU of the board in a second": 500,
    "DescribeStreams refused": 0,
    "transactions for 93 comments": 16,
    "most RCU in a second, paced": 760,
}
PAGE = ROOT / "docs/scaling.md"


def count(names: list[str]) -> Found:
    """Run the cases, each on a table of its own."""
    from dal.statistics.maintenance_mode import create_table  # noqa: PLC0415 - of which checkout?
    from dal.table.client import Table  # noqa: PLC0415
    from tests.trials.hotspots import simulation  # noqa: PLC0415
    from tests.trials.hotspots.cases import CASES  # noqa: PLC0415

    async def run(case: Any) -> Mapping[str, float]:
        shop = simulation.Shop(engine, f"hot-{uuid.uuid4().hex}")
        await create_table(Table(engine, shop.name))
        figures: Mapping[str, float] = await case(shop)
        return figures

    found = {}
    with dynoxide() as url, simulation.opened(url) as engine:
        simulation.simulate_clocks()
        for case in CASES:
            if names and case.__name__ not in names:
                continue
            random.seed(1)
            with asyncio.Runner(loop_factory=simulation.SimulatedLoop) as runner:
                found[str(case.__doc__).strip().rstrip(".")] = runner.run(run(case))
    return found


def counted_of(code: Path, names: list[str]) -> Found:
    """Run the cases on another checkout's code, in a process of its own."""
    command = [sys.executable, "-m", "tests.trials.hotspots", "--code", str(code), *names]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: Found = json.loads(told)
    return found


def main() -> None:
    """Run the trial, show its figures, and exit with 1 where one is beyond its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--code", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    parser.add_argument("cases", nargs="*", help="by name; all if none is given")
    asked = parser.parse_args()
    if asked.code:
        sys.path.insert(0, str(asked.code.resolve()))
        sys.stdout.write(json.dumps(count(asked.cases)))
        return
    after = count(asked.cases)
    before = counted_of(asked.beside, asked.cases) if asked.beside else {}
    _tell(before, after, write=asked.write)
    sys.exit(
        any(
            figure > BOUNDS.get(name, figure)
            for case in after.values()
            for name, figure in case.items()
        )
    )


def _tell(before: Found, after: Found, *, write: bool) -> None:
    from rich.console import Console  # noqa: PLC0415

    from tools.bench import report  # noqa: PLC0415 - it imports what is measured

    rows = [
        (case if number == 0 else "", name, _shown(before.get(case, {}).get(name)), _shown(figure))
        for case, figures in after.items()
        for number, (name, figure) in enumerate(figures.items())
    ]
    found = [report.Section("Hot spots", ("what is done", "counted", "before", "after"), rows, 2)]
    report.show(Console(width=160), found)
    if write:
        page = report.page(PAGE.read_text("utf-8"), "hotspots", found, [])
        PAGE.write_text(page, "utf-8")


def _shown(figure: float | None) -> str:
    if figure is None:
        return ""
    return f"{figure:,.0f}" if figure == int(figure) else f"{figure:,.1f}"


if __name__ == "__main__":
    main()
