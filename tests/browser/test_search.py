"""A visitor finds products by the words of their titles, and pages by addresses of other forms."""

from urllib.parse import quote_plus

from playwright.async_api import Page, expect

from tests.browser.conftest import NEEDS_CHROMIUM, Server

pytestmark = NEEDS_CHROMIUM


async def test_the_beginning_of_a_word_finds_the_product(page: Page, server: Server) -> None:
    await page.goto(f"{server.url}/")
    for words in ("kettle", "COPPER KET", "kettle 1.2", "copper-kettle, 1"):
        await page.get_by_role("searchbox").fill(words)
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"**/products?q={quote_plus(words)}")
        found = page.get_by_role("main").get_by_role("link", name="Copper kettle, 1.2 l")
        await expect(found).to_have_count(1)


async def test_other_addresses_lead_to_their_pages(page: Page, server: Server) -> None:
    for address, shown in (
        ("/docs", "/graphql"),
        ("/playground/?lang=en", "/playground?lang=en"),
        ("/products/", "/"),
    ):
        answer = await page.goto(f"{server.url}{address}")
        assert answer is not None
        assert (answer.status, page.url) == (200, f"{server.url}{shown}")
    answer = await page.goto(f"{server.url}/favicon.ico")
    assert answer is not None
    assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
