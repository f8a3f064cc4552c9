"""Helpful votes with scripts: a vote is shown at once, and removed if it was not saved."""

import asyncio

from playwright.async_api import Page, Route, expect

from pages.page_request import NOTICES
from tests.browser.conftest import NEEDS_CHROMIUM, Server, Witness
from tests.browser.test_pages import Reader

pytestmark = NEEDS_CHROMIUM


async def test_a_vote_is_shown_at_once_and_removed_if_it_is_not_saved(
    page: Page, server: Server, witness: Witness, adas_jwt: str
) -> None:
    reader = Reader(page, server.url, scripts=True)
    await reader.open("/products/1?order=oldest")
    helpful = page.get_by_role("button", name="Helpful", exact=True).nth(1)
    await helpful.click()
    await expect(page).to_have_url(f"{server.url}/sign-in?next=%2Fproducts%2F1%3Forder%3Doldest")
    await reader.sign_in(adas_jwt)
    await reader.open("/products/1?order=oldest")

    number = page.locator(".helpful [role=status]").nth(1)
    late = asyncio.Event()

    async def fail(route: Route) -> None:
        await late.wait()
        await route.fulfill(status=503)

    await page.route("**/votes", fail)
    await helpful.press("Enter")
    await expect(helpful).to_have_attribute("aria-pressed", "true")
    await expect(number).to_have_text("1 person found this helpful")
    late.set()
    await expect(helpful).to_have_attribute("aria-pressed", "false")
    await expect(number).to_have_text(NOTICES["not-voted"])
    await expect(helpful).to_be_focused()
    await page.unroute("**/votes")
    await page.route("**/votes", lambda route: route.fulfill(json={"count": None}))
    await helpful.press("Enter")
    await expect(number).to_have_text(NOTICES["vote-refused"])
    witness.complaints.clear()
    await page.unroute("**/votes")

    async with page.expect_response("**/votes") as answer:
        await helpful.press("Enter")
    assert (await (await answer.value).json()) == {"count": 1}
    await expect(number).to_have_text("1 person found this helpful")
    await page.reload()
    await expect(helpful).to_have_attribute("aria-pressed", "true")
    async with page.expect_response("**/votes"):
        await helpful.press("Enter")
    await expect(number).to_be_empty()
