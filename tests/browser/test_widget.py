"""The widget on pages of other origins, in Chromium."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest
from playwright.async_api import Browser, Page, Request, Route, expect

from tests.browser.conftest import NEEDS_CHROMIUM, Server
from tests.engines import ROOT

pytestmark = NEEDS_CHROMIUM

ALLOWED = "http://localhost:9"
"""An origin that the demo allows, like all origins of this machine. A route serves its page."""

OTHER = "https://shop.example"


@pytest.fixture
async def shop(chromium: Browser, server: Server) -> AsyncIterator[Page]:
    """A shop's page with the widget of the example, which can be opened at either origin."""
    text = (ROOT / "examples/widget/index.html").read_text("utf-8")
    text = text.replace("http://127.0.0.1:8000", server.url)

    async def answer(route: Route) -> None:
        await route.fulfill(body=text, content_type="text/html")

    async with await chromium.new_context() as context:
        context.set_default_timeout(60_000)
        # Otherwise Chromium asks before a page of another site may reach this machine.
        await context.grant_permissions(["local-network-access"])
        for origin in (ALLOWED, OTHER):
            await context.route(f"{origin}/", answer)
        yield await context.new_page()


async def test_three_widgets_on_a_page(shop: Page, server: Server) -> None:
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url.removeprefix(server.url).partition("?")[0])

    shop.on("request", note)
    await shop.goto(f"{ALLOWED}/")
    first, critical, arabic = [shop.locator("marginalia-comments").nth(place) for place in range(3)]
    await expect(first.get_by_text(re.compile("1,6.. comments"))).to_be_visible()
    await expect(first.get_by_role("listitem")).to_have_count(3)
    await expect(critical.get_by_role("img", name="1 out of 5 stars").first).to_be_visible()
    await expect(arabic.locator("section")).to_have_attribute("dir", "rtl")
    await first.get_by_role("button", name="More comments").click()
    await expect(first.get_by_role("listitem")).to_have_count(6)
    await expect(first.get_by_role("link", name="All comments")).to_have_attribute(
        "href", f"{server.url}/products/1"
    )
    assert sorted(asked) == sorted([f"{ALLOWED}/", "/widget.js", *["/graphql"] * 4])
    assert await shop.context.cookies() == []
    await critical.evaluate("element => element.setAttribute('rating', '5')")
    await expect(critical.get_by_role("img", name="1 out of 5 stars")).to_have_count(0)


async def test_further_comments_that_cannot_be_read_are_offered_again(
    shop: Page, server: Server
) -> None:
    asked: list[str] = []

    async def fail(route: Route) -> None:
        asked.append(route.request.url)
        await route.abort()

    await shop.goto(f"{ALLOWED}/")
    first = shop.locator("marginalia-comments").first
    await expect(first.get_by_role("listitem")).to_have_count(3)
    await expect(first.get_by_role("alert")).to_have_text("")
    await shop.context.route(f"{server.url}/graphql?**", fail)
    for name in ("More comments", "Try again"):
        await first.get_by_role("button", name=name).click()
        await expect(first.get_by_role("button", name="Try again")).to_be_enabled()
        await expect(first.get_by_role("alert")).not_to_have_text("")
        await expect(first.get_by_role("listitem")).to_have_count(3)
    assert len(asked) == 2
    await shop.context.unroute(f"{server.url}/graphql?**")
    await first.get_by_role("button", name="Try again").click()
    await expect(first.get_by_role("listitem")).to_have_count(6)
    await expect(first.get_by_role("alert")).to_have_text("")
    await expect(first.get_by_role("button", name="More comments")).to_be_enabled()


ROW = {
    "rating": 5,
    "title": None,
    "text": "Good.",
    "language": "en",
    "createdAt": "2026-01-02T00:00:00.000000Z",
    "authorName": "Ann",
    "verifiedPurchase": False,
    "reply": {"text": "Thank <b>you</b>.", "createdAt": "2026-01-03T00:00:00.000000Z"},
}


async def test_the_widget_shows_a_million_comments_and_a_reply_in_every_plural_form(
    shop: Page, server: Server
) -> None:
    """Some browsers' plural forms for large numbers are missing in the catalogues."""
    comments = {"nodes": [ROW], "pageInfo": {"hasNextPage": False, "endCursor": "x"}}
    product = {"statistics": {"total": 1_000_000, "average": 4.5}, "comments": comments}

    async def answer(route: Route) -> None:
        headers = {"Access-Control-Allow-Origin": "*"}
        await route.fulfill(json={"data": {"product": product}}, headers=headers)

    await shop.context.route(f"{server.url}/graphql?**", answer)
    await shop.goto(f"{ALLOWED}/")
    first = shop.locator("marginalia-comments").first
    await expect(first.get_by_text("1,000,000 comments")).to_be_visible()
    await expect(first.get_by_text("Thank <b>you</b>.")).to_be_visible()
    await expect(first.get_by_text("the shop · January 3, 2026")).to_be_visible()
    await first.evaluate("element => element.setAttribute('lang', 'FR')")
    await expect(first.get_by_text("commentaires", exact=False).first).to_be_visible()


async def test_on_an_origin_that_is_not_allowed_the_element_keeps_its_content(shop: Page) -> None:
    async with shop.expect_console_message(lambda one: "marginalia-comments" in one.text):
        await shop.goto(f"{OTHER}/")
    await expect(shop.get_by_role("link", name="Read the comments")).to_be_visible()


async def test_the_widgets_script_is_small(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url) as client:
        answer = await client.get("/widget.js", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 15_000
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
