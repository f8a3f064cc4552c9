"""The moderators' page in Chromium: keyboard, updates of the queue, and without scripts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from pages.page_request import NOTICES
from tests.browser.conftest import NEEDS_CHROMIUM, Server, Witness, token_of
from tests.browser.test_pages import Reader, look

pytestmark = NEEDS_CHROMIUM

BLOCK = "mutation ($input: BlockUserInput!) { blockUser(input: $input) { userErrors { message } } }"
ADD = """mutation ($input: AddCommentInput!) {
  addComment(input: $input) { submission { id } userErrors { message } } }"""
DELETE = """mutation ($input: DeleteCommentInput!) {
  deleteComment(input: $input) { userErrors { message } } }"""


class Shop:
    """A blocked user, whose comments wait for review, and a moderator."""

    def __init__(self, server: Server) -> None:
        self.url = server.url
        self.moderator = token_of(server, "mo", "moderator")
        self._author = token_of(server, "blocked")
        self._waiting: dict[str, str] = {}
        self._run(self.moderator, BLOCK, username="blocked", reason="Adverts")

    def _run(self, jwt: str, document: str, **given: Any) -> Any:
        headers = {"Authorization": f"Bearer {jwt}"}
        body = {"query": document, "variables": {"input": given}}
        answer = httpx.post(f"{self.url}/graphql", json=body, headers=headers, timeout=60)
        (payload,) = answer.json()["data"].values()
        assert not payload["userErrors"]
        return payload

    def add(self, title: str) -> None:
        given = {"rating": 4, "language": "en", "title": title, "text": "A text."}
        added = self._run(self._author, ADD, productId="moderated", **given)
        self._waiting[title] = added["submission"]["id"]

    def withdraw(self, title: str) -> None:
        self._run(self._author, DELETE, id=self._waiting.pop(title))

    def empty(self) -> None:
        for title in list(self._waiting):
            self.withdraw(title)


@pytest.fixture
def shop(server: Server) -> Iterator[Shop]:
    shop = Shop(server)
    for title in ("First", "Second", "Third", "Fourth"):
        shop.add(title)
    yield shop
    shop.empty()


async def test_a_moderator_decides_by_keyboard_and_the_list_is_updated(
    page: Page, shop: Shop
) -> None:
    await page.clock.install()
    await Reader(page, shop.url, scripts=True).sign_in(shop.moderator)
    await page.goto(f"{shop.url}/moderation")
    titles, rows = page.locator(".waiting h3"), page.locator(".waiting")
    await expect(titles).to_have_text(["First", "Second", "Third", "Fourth"])
    for key in ("j", "ArrowDown", "j", "k"):
        await page.keyboard.press(key)
    await expect(rows.nth(1)).to_be_focused()
    shop.withdraw("First")
    await page.clock.run_for(11_000)
    await expect(titles).to_have_text(["Second", "Third", "Fourth"])
    await expect(rows.first).to_be_focused()
    await page.keyboard.press("r")
    await page.keyboard.type("An advert")
    shop.withdraw("Fourth")
    await page.clock.run_for(30_000)
    await expect(titles).to_have_text(["Second", "Third", "Fourth"])
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status").first).to_contain_text(NOTICES["rejected"])
    await expect(titles).to_have_text(["Third"])
    await expect(rows.first).to_be_focused()
    await page.keyboard.press("a")
    await expect(page.get_by_role("status").first).to_contain_text(NOTICES["approved"])
    await expect(titles).to_have_count(0)


async def test_axe_finds_no_fault(page: Page, shop: Shop, tmp_path: Path) -> None:
    await Reader(page, shop.url, scripts=True).sign_in(shop.moderator)
    await look(page, f"{shop.url}/moderation", tmp_path / "queue.html")
    await look(page, f"{shop.url}/moderation?lang=ar", tmp_path / "arabic.html")


async def test_several_submissions_are_decided_without_scripts(
    chromium: Browser, witness: Witness, shop: Shop
) -> None:
    async with await chromium.new_context(java_script_enabled=False) as context:
        await witness.watch(context)
        page = await context.new_page()
        await Reader(page, shop.url, scripts=False).sign_in(shop.moderator)
        await page.get_by_role("link", name="Moderation").click()
        for number in (0, 2):
            await page.get_by_role("checkbox").nth(number).check()
        await page.get_by_role("button", name="Approve selected").click()
        await expect(page.locator(".waiting h3")).to_have_text(["Second", "Fourth"])
