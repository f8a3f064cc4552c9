"""Takes pictures of the examples for their README, on a wide screen and on a phone."""

from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Browser, async_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.pictures import PRODUCT, kettle
from tests.engines import ROOT
from tests.server.serving import jwt_of
from tools.trials.examples.running import developed
from tools.trials.examples.shop import Shop

PICTURES = ROOT / "examples/pictures"


async def take() -> None:
    """Take a picture of each example, and one of the storefront on a phone."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        with kettle("--cors-origin", "*") as url, TemporaryDirectory() as directory:
            for example in ("storefront", "apollo", "urql"):
                with developed(example, url, Path(directory) / "log") as address:
                    await _wide(browser, address, example)
                    if example == "storefront":
                        await _phone(browser, address)
        await browser.close()


async def _wide(browser: Browser, url: str, example: str) -> None:
    page = await browser.new_page(viewport={"width": 1000, "height": 860})
    shop = Shop(page)
    await shop.open(f"{url}?product={PRODUCT}")
    await shop.sign_in(jwt_of("ana"))
    await page.get_by_text("Signed in as ana").wait_for()
    await shop.ready()
    if example == "storefront":
        await shop.toggle("4 ★", "5 ★", "en")
        await shop.ready()
        await page.get_by_text("Write a comment").click()
    await page.screenshot(path=PICTURES / f"{example}.png")
    await page.close()


async def _phone(browser: Browser, url: str) -> None:
    page = await browser.new_page(
        viewport={"width": 390, "height": 860}, color_scheme="dark", is_mobile=True
    )
    await Shop(page).open(f"{url}?product={PRODUCT}")
    await page.screenshot(path=PICTURES / "phone.png")
    await page.close()
