"""Where the pages put their parts, on a desktop, on a phone, and from right to left."""

import pytest
from playwright.async_api import Page

from tests.browser.conftest import NEEDS_CHROMIUM, Server, Witness

pytestmark = NEEDS_CHROMIUM

FAR_TITLES = """all => all.map(header => {
    const stars = header.querySelector(".stars").getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(header.querySelector("h1, h2, h3"));
    const title = range.getBoundingClientRect();
    return Math.max(title.left - stars.right, stars.left - title.right);
}).filter(gap => gap < 0 || gap > 20)"""
"""The gaps between the stars and the title of each card, unless the title is next to the stars."""


@pytest.mark.parametrize("address", ["/products/1?language=ar", "/products/1?language=de&lang=ar"])
async def test_a_title_is_next_to_its_stars_also_in_the_other_direction(
    page: Page, server: Server, witness: Witness, address: str
) -> None:
    await page.goto(server.url + address)
    headers = page.locator(".comment header:has(h3)")
    assert await headers.evaluate_all(FAR_TITLES) == []
    await headers.locator("a").first.click()
    header = page.locator(".comment header:has(h1)")
    assert await header.evaluate_all(FAR_TITLES) == []
    await page.set_viewport_size({"width": 390, "height": 844})
    assert await header.evaluate_all(FAR_TITLES) == []
