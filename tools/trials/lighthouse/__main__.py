"""Runs Lighthouse on four pages, as a phone and as a desktop: each category must reach 100.

It also prints the requests and bytes of a first visit. Lighthouse measures performance on a
simulated device and network. Other work on the machine lowers it, so the median of several rounds
counts.
"""

import asyncio
import json
import os
import sys
from itertools import product
from pathlib import Path
from statistics import median_low
from tempfile import TemporaryDirectory
from typing import Any

from tools.trials.reporting import CONSOLE, finish, show
from tools.trials.serving import serving

HERE = Path(__file__).parent
PAGES = ("/", "/products/1", "/products/1?rating=4&rating=5&language=de", "/playground")
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
DEVICES = {"phone": (), "desktop": ("--preset=desktop",)}
LEAST = 100
ROUNDS = 3

_SCORED = {"binary", "numeric", "metricSavings"}
_GREEN = 0.9

_FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-quic --disable-background-networking"


async def _report(address: str, *options: str) -> dict[str, Any]:
    """Run Lighthouse once on a page. Return its report."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    process = await asyncio.create_subprocess_exec(
        "node",
        HERE / "node_modules/lighthouse/cli/index.js",
        address,
        *options,
        "--output=json",
        "--quiet",
        f"--only-categories={','.join(CATEGORIES)}",
        f"--chrome-flags={_FLAGS}",
        env=os.environ | {"PATH": path, "CHROME_PATH": "/usr/bin/chromium"},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    found: dict[str, Any] = json.loads(output)
    return found


def _scores(report: dict[str, Any]) -> list[int]:
    return [round(100 * (report["categories"][one]["score"] or 0)) for one in CATEGORIES]


def _faults(report: dict[str, Any]) -> list[str]:
    """Return the failed audits that affect a score, each with its category."""
    return [
        f"{category}: {audit['title']}"
        for category in CATEGORIES
        for one in report["categories"][category]["auditRefs"]
        for audit in [report["audits"][one["id"]]]
        if one["weight"] and audit["scoreDisplayMode"] in _SCORED
        if (audit["score"] or 0) < _GREEN
    ]


async def _trial(url: str) -> list[str]:
    """Print the scores. Return a sentence for each page with a score below ``LEAST``."""
    rows, broken = [], []
    for page, (device, options) in product(PAGES, DEVICES.items()):
        reports = [await _report(url + page, *options) for _ in range(ROUNDS)]
        scores = [median_low(column) for column in zip(*map(_scores, reports), strict=True)]
        requests = reports[0]["audits"]["network-requests"]["details"]["items"]
        size = sum(one.get("transferSize", 0) for one in requests)
        rows.append([page, device, *map(str, scores), str(len(requests)), f"{size:,}"])
        for fault in sorted({fault for report in reports for fault in _faults(report)}):
            CONSOLE.print(f"{page}  {fault}")
        if min(scores) < LEAST:
            broken.append(f"{page} does not reach {LEAST} as a {device}.")
    show("Lighthouse", ("page", "device", *CATEGORIES, "requests", "bytes"), rows)
    return broken


async def main() -> list[str]:
    """Run a server with the demo data, and Lighthouse on its pages."""
    with TemporaryDirectory() as directory:
        async with serving(Path(directory), "--demo") as server:
            return await _trial(server.url)


if __name__ == "__main__":
    finish(asyncio.run(main()))
