"""Measures CPU per page, requests and bytes of a first visit.

    python -m tests.trials.page_cost --beside ../before

``--beside`` serves another checkout too, and asks both in turn: on a busy machine milliseconds tell
little, and the ratio much. The engine's CPU is not counted. Bytes are those that Chromium received,
headers and all. CPU is that of pages that are sent as they are, without brotli.
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import psutil
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.table import Table

from tests.engines import ROOT
from tests.server.serving import AWS, served

PAGES = (
    ("/products/1", "en"),
    ("/products/1", "de"),
    ("/products/1", "ar"),
    ("/products/1?rating=4&rating=5", "en"),
    ("/products/1?rating=5&language=de", "en"),
    ("/comments/demo-00001", "en"),
    ("/", "en"),
)
"""Paths, and the language that the browser wants."""

VISITED = ("/", "/products/1", "/comments/demo-00001", "/sign-in")
SETTLING = 2_000
"""Milliseconds in which a page may ask for more."""


class Site:
    """A server of one checkout with the demo's data."""

    def __init__(self, url: str, process: psutil.Process) -> None:
        self.client = httpx.Client(base_url=url, timeout=60, headers={"Accept": "text/html"})
        self._process = process

    def loaded(self) -> bool:
        """Return whether all of the demo's data is there."""
        last = self.client.get("/products/8").text
        return last.count('class="comment"') == 12 and 'http-equiv="refresh"' not in self._home()

    def _home(self) -> str:
        return self.client.get("/").text

    def cpu(self, path: str, language: str, times: int) -> float:
        """Return the milliseconds of CPU that a page takes, on average over ``times``."""
        before = self._spent()
        for _ in range(times):
            self.client.get(
                path, headers={"Accept-Language": language, "Accept-Encoding": "identity"}
            )
        return (self._spent() - before) / times * 1000

    def _spent(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def visit(self, browser: Browser, path: str) -> tuple[int, int]:
        """Return how many requests a first visit makes, and how many bytes it receives."""
        context = browser.new_context()
        page = context.new_page()
        session = context.new_cdp_session(page)
        received: list[int] = []

        def finished(event: dict[str, Any]) -> None:
            if event["encodedDataLength"]:  # nothing is received of what is in a cache, or in data:
                received.append(int(event["encodedDataLength"]))

        session.on("Network.loadingFinished", finished)
        session.send("Network.enable")
        page.goto(str(self.client.base_url.join(path)))
        page.wait_for_timeout(SETTLING)
        context.close()
        return len(received), sum(received)


@contextmanager
def site(checkout: Path, *options: str) -> Iterator[Site]:
    """Serve a checkout's code until the block ends."""
    settings = AWS | {"PYTHONPATH": str(checkout)}
    with (
        TemporaryDirectory() as directory,
        served(Path(directory), "--demo", *options, **settings) as server,
    ):
        found = Site(server.url, psutil.Process(server.process.pid))
        while not found.loaded():
            time.sleep(0.5)
        yield found


def _cpu(sites: list[Site], rounds: int) -> Table:
    table = Table("page", "language", *_columns(sites, "ms"), title="CPU of the server")
    for path, language in PAGES:
        for one in sites:
            one.cpu(path, language, 5)  # templates are compiled
        spent = [[one.cpu(path, language, 50) for one in sites] for _ in range(rounds)]
        told = [f"{median(column):.2f}" for column in zip(*spent, strict=True)]
        ratio = [f"{median(ours / other for ours, other in spent):.2f}"] if len(sites) > 1 else []
        table.add_row(path, language, *told, *ratio)
    return table


def _visits(sites: list[Site]) -> Table:
    table = Table("page", *(f"requests, bytes{one}" for one in _names(sites)), title="First visits")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium")
        for path in VISITED:
            visits = [one.visit(browser, path) for one in sites]
            table.add_row(path, *(f"{requests}, {size:,}" for requests, size in visits))
        browser.close()
    return table


def _names(sites: list[Site]) -> list[str]:
    return ["", " beside"][: len(sites)]


def _columns(sites: list[Site], unit: str) -> list[str]:
    return [f"{unit}{one}" for one in _names(sites)] + ["ratio"] * (len(sites) - 1)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="What a page costs.")
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=6, help="of 50 requests of each page")
    parser.add_argument("--explain", action="store_true", help="pages show their plans")
    asked = parser.parse_args()
    options = ["--explain"] if asked.explain else []
    checkouts = [ROOT, *([asked.beside.resolve()] if asked.beside else [])]
    console = Console(width=120)
    with ExitStack() as stack:
        sites = [stack.enter_context(site(checkout, *options)) for checkout in checkouts]
        console.print(_cpu(sites, asked.rounds))
        console.print(_visits(sites))


if __name__ == "__main__":
    main()
