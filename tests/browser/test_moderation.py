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
QUEUE = """{ moderationQueue(kind: PENDING, first: 25) {
  nodes { submission { id createdAt updatedAt } } } }"""
DECIDE = """mutation ($input: DecideCommentsInput!) {
  decideComments(input: $input) { userErrors { message } } }"""


class Shop:
    """A blocked user, whose comments wait for review, and a moderator.

    The moderator has decided on the demo's own waiting comments.
    """

    def __init__(self, server: Server) -> None:
        self.url = server.url
        self.moderator = token_of(server, "mo", "moderator")
        self._author = token_of(server, "blocked")
        self._waiting: dict[str, str] = {}
        self._run(self.moderator, BLOCK, username="blocked", reason="Adverts")
        waiting = [one["submission"] for one in self._send(self.moderator, QUEUE)["nodes"]]
        decisions = [
            {"id": one["id"], "seen": one["updatedAt"] or one["createdAt"]}
            | {"verdict": "REJECT", "reason": "Test"}
            for one in waiting
        ]
        if decisions:
            self._run(self.moderator, DECIDE, decisions=decisions)

    def _send(self, jwt: str, document: str, **given: Any) -> Any:
        headers = {"Authorization": f"Bearer {jwt}"}
        body = {"query": document, "variables": {"input": given}}
        answer = httpx.post(f"{self.url}/graphql", json=body, headers=headers, timeout=60)
        (payload,) = answer.json()["data"].values()
        return payload

    def _run(self, jwt: str, document: str, **given: Any) -> Any:
        payload = self._send(jwt, document, **given)
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


async def test_failed_updates_pause_longer_and_are_shown(
    page: Page, shop: Shop, witness: Witness
) -> None:
    await page.clock.install()
    await Reader(page, shop.url, scripts=True).sign_in(shop.moderator)
    await page.goto(f"{shop.url}/moderation")
    stale = page.locator("#stale")
    await expect(page.locator(".keys")).to_be_visible()
    await expect(stale).to_be_hidden()
    await page.route("**/moderation", lambda route: route.abort())
    witness.requests.clear()
    for _ in range(30):
        await page.clock.run_for(10_000)
    await expect(stale).to_be_visible()
    # after 10, 30, 70, 150 and 310 seconds
    assert witness.requests.count(f"{shop.url}/moderation") <= 5
    await page.unroute("**/moderation")
    await stale.get_by_role("button").click()
    await expect(stale).to_be_hidden()
    witness.complaints.clear()  # Chromium reports the aborted requests


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
        first = page.locator(".waiting").first
        tops = [
            (await bounding.bounding_box() or {"y": 0})["y"]
            for bounding in (page.locator("#chosen"), first.locator(".choose"), first.locator("h3"))
        ]
        assert tops == sorted(tops), "the selection precedes the comment, and its form the list"
        await first.get_by_text("Block user").click()
        await first.locator("details [name=reason]").fill("Adverts")
        await first.locator("[name=block]").click()
        await expect(page.get_by_role("status").first).to_contain_text(NOTICES["blocked"])
