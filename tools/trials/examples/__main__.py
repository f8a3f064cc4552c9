"""Compiles the example front ends and uses each in Chromium.

Prints a table, and exits with 1 if a check fails. Arguments select examples. With ``--pictures``,
it takes the pictures for their README instead.
"""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import async_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.server.serving import served
from tools.trials.audit.findings import Finding, report
from tools.trials.examples import pictures
from tools.trials.examples.running import Api, developed
from tools.trials.examples.use import findings

EXAMPLES = {"storefront": "Relay", "apollo": "Apollo", "urql": "urql"}


def main() -> None:
    """Use the selected examples, or take their pictures."""
    if "--pictures" in sys.argv:
        asyncio.run(pictures.take())
    else:
        report(asyncio.run(_sections(sys.argv[1:] or [*EXAMPLES])))


async def _sections(examples: list[str]) -> dict[str, list[Finding]]:
    sections = {}
    with TemporaryDirectory() as directory, served(Path(directory), "--demo") as server:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            for example in examples:
                log = Path(directory, f"{example}.log")
                with developed(example, server.url, log) as url:
                    sections[EXAMPLES[example]] = await findings(browser, Api(server.url), url)
            await browser.close()
    return sections


if __name__ == "__main__":
    main()
