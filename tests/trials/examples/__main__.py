"""Compiles the example front ends and uses each in Chromium.

Prints a table, and ends with 1 if anything does not hold. Arguments name some of the examples.
``--pictures`` takes the pictures of their README instead.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Browser, async_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.server.serving import served
from tests.trials.audit.findings import Finding, table
from tests.trials.examples import pictures
from tests.trials.examples.api import Api
from tests.trials.examples.use import findings
from tests.trials.examples.vite import developed

EXAMPLES = {"storefront": "Relay", "apollo": "Apollo", "urql": "urql"}


def main() -> int:
    """Use all examples, or take their pictures."""
    if "--pictures" in sys.argv:
        asyncio.run(pictures.take())
        return 0
    sections = asyncio.run(_sections())
    print(table(sections))  # noqa: T201 - a command's output
    return 0 if all(finding.holds for _, findings in sections for finding in findings) else 1


async def _sections() -> list[tuple[str, list[Finding]]]:
    with TemporaryDirectory() as directory, served(Path(directory), "--demo") as server:
        api = Api(server.url)
        async with _chromium() as browser:
            return [
                (client, await _used(browser, api, example, Path(directory)))
                for example, client in EXAMPLES.items()
                if example in sys.argv or len(sys.argv) == 1
            ]


async def _used(browser: Browser, api: Api, example: str, directory: Path) -> list[Finding]:
    with developed(example, api.url, directory / f"{example}.log") as url:
        return await findings(browser, api, url)


@asynccontextmanager
async def _chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        await browser.close()


if __name__ == "__main__":
    sys.exit(main())
