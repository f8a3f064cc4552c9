"""The widget on pages of other origins, in Chromium."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Locator, Page, Request, Route, expect

from tests.browser.conftest import NEEDS_CHROMIUM, Server, token_of
from tests.browser.test_pages import violations
from tests.engines import ROOT

pytestmark = NEEDS_CHROMIUM

ALLOWED = "http://localhost:9"
"""An origin that the demo allows, like all origins of this machine. A route serves its page."""

OTHER = "https://shop.example"

API = "/graphql?**"


@asynccontextmanager
async def opened(
    chromium: Browser, server: Server, html: str | None = None, **options: Any
) -> AsyncIterator[Page]:
    """Yield a page of a shop with the widget, which can be opened at either origin."""
    text = html or (ROOT / "examples/widget/index.html").read_text("utf-8")
    text = text.replace("http://127.0.0.1:8000", server.url)

    async def answer(route: Route) -> None:
        await route.fulfill(body=text, content_type="text/html")

    async with await chromium.new_context(**options) as context:
        context.set_default_timeout(60_000)
        # Otherwise Chromium asks before a page of another site may reach this machine.
        await context.grant_permissions(["local-network-access"])
        for origin in (ALLOWED, OTHER):
            await context.route(f"{origin}/", answer)
        yield await context.new_page()


@pytest.fixture
async def shop(chromium: Browser, server: Server) -> AsyncIterator[Page]:
    """The page of the example."""
    async with opened(chromium, server) as page:
        yield page


async def share(part: Locator, whole: Locator) -> float:
    """Return the width of a part as a share of the width of its whole."""
    boxes = [await one.bounding_box() for one in (part, whole)]
    assert boxes[0]
    assert boxes[1]
    return boxes[0]["width"] / boxes[1]["width"]


async def test_three_widgets_on_a_page(shop: Page, server: Server) -> None:
    asked: list[str] = []
    kept: list[str] = []

    def note(request: Request) -> None:
        if request.resource_type != "image":
            asked.append(request.url.removeprefix(server.url).partition("?")[0])

    shop.on("request", note)
    shop.on("response", lambda one: kept.append(one.headers.get("cache-control", "")))
    await shop.goto(f"{ALLOWED}/")
    first, critical, arabic = [shop.locator("marginalia-comments").nth(place) for place in range(3)]
    await expect(first.get_by_text(re.compile("1,6.. comments"))).to_be_visible()
    await expect(first.locator("li.comment")).to_have_count(3)
    average = first.locator(".summary .stars")
    assert abs(await share(average.locator("i"), average) - 4.3 / 5) < 0.005
    bars = [await share(bar.locator("i"), bar) for bar in await first.locator(".bar").all()]
    assert len(bars) == 5
    assert abs(sum(bars) - 1) < 0.05, "the bars show parts of all comments"
    await expect(critical.get_by_role("img", name="1 out of 5 stars").first).to_be_visible()
    await expect(arabic.locator("section")).to_have_attribute("dir", "rtl")
    await first.get_by_role("button", name="More comments").click()
    await expect(first.locator("li.comment")).to_have_count(6)
    await expect(first.locator("li.comment").nth(3)).to_be_focused()
    await expect(first.get_by_role("link", name="All comments")).to_have_attribute(
        "href", f"{server.url}/products/1"
    )
    await expect(first.get_by_role("link", name="Write a comment")).to_be_visible()
    await expect(critical.get_by_role("link", name="Write a comment")).to_have_count(0)
    assert sorted(asked) == sorted([f"{ALLOWED}/", "/widget.js", *["/graphql"] * 4])
    assert sum(one.startswith("public, s-maxage=") for one in kept) == 4
    assert await shop.context.cookies() == []
    await critical.evaluate(
        """element => Object.entries({rating: 5, size: 2, lang: "de"})
        .forEach(([name, value]) => element.setAttribute(name, value))"""
    )
    await expect(critical.locator("li.comment")).to_have_count(2)
    await expect(critical.get_by_role("img", name="1 out of 5 stars")).to_have_count(0)
    assert asked.count("/graphql") == 5, "several changes send one request"


async def test_a_failed_request_shows_an_error_and_is_sent_again_on_request(
    shop: Page, server: Server
) -> None:
    """The first page fails, then further comments fail."""
    asked: list[str] = []

    async def fail(route: Route) -> None:
        asked.append(route.request.url)
        await route.abort()

    html = '<script type=module src="http://127.0.0.1:8000/widget.js"></script>'
    html += (
        '<marginalia-comments product="1" size="3"><a href="#">Comments</a></marginalia-comments>'
    )

    async def answer(route: Route) -> None:
        body = html.replace("http://127.0.0.1:8000", server.url)
        await route.fulfill(body=body, content_type="text/html")

    await shop.context.route(f"{ALLOWED}/", answer)
    await shop.context.route(f"{server.url}{API}", fail)
    await shop.goto(f"{ALLOWED}/")
    first = shop.locator("marginalia-comments")
    again = first.get_by_role("button", name="Try again")
    for place in range(2):
        await expect(first.get_by_role("alert")).not_to_have_text("")
        await expect(first.get_by_role("link", name="Comments")).to_be_visible()
        assert len(asked) == place + 1, "a failure sends nothing by itself"
        async with shop.expect_event("requestfailed"):
            await again.click()
    await shop.context.unroute(f"{server.url}{API}")
    await again.click()
    await expect(first.locator("li.comment")).to_have_count(3)
    await expect(first.get_by_role("alert")).to_have_text("")
    await shop.context.route(f"{server.url}{API}", fail)
    asked.clear()
    for name in ("More comments", "Try again"):
        await first.get_by_role("button", name=name).click()
        await expect(again).not_to_have_attribute("aria-busy", "true")
        await expect(first.get_by_role("alert")).not_to_have_text("")
        await expect(first.locator("li.comment")).to_have_count(3)
    assert len(asked) == 2
    await shop.context.unroute(f"{server.url}{API}")
    await again.click()
    await expect(first.locator("li.comment")).to_have_count(6)
    await expect(first.get_by_role("alert")).to_have_text("")
    await expect(first.get_by_role("button", name="More comments")).to_be_enabled()


ROW = {
    "id": "Q29tbWVudDox",
    "rating": 5,
    "title": None,
    "text": "Good.",
    "language": "en",
    "createdAt": "2026-01-02T00:00:00.000000Z",
    "authorName": "Ann",
    "verifiedPurchase": False,
    "source": "IMPORT",
    "incentivized": True,
    "incentive": f"<b>{'x' * 197}",
    "helpfulCount": 3,
    "aspects": [{"name": "fit", "rating": 4}],
    "photos": [
        {"url": "/static/pages/icon.png", "alt": "A kettle"},
        {"url": "https://pictures.example/1.jpg", "alt": ""},
    ],
    "reply": {"text": "Thank <b>you</b>.", "createdAt": "2026-01-03T00:00:00.000000Z"},
}
HISTOGRAM = [{"rating": rating, "count": 200_000} for rating in (5, 4, 3, 2, 1)]


@pytest.mark.parametrize(
    ("locale", "date"),
    [("en-US", "January 3, 2026"), ("en-GB", "3 January 2026"), ("de-DE", "3 January 2026")],
)
async def test_the_widget_shows_dates_as_the_visitor_writes_them_and_every_field(
    chromium: Browser, server: Server, locale: str, date: str
) -> None:
    """Some browsers' plural forms for large numbers are missing in the catalogues."""
    comments = {"nodes": [ROW], "pageInfo": {"hasNextPage": False, "endCursor": "x"}}
    aspects = [{"name": "fit", "average": 2.5}, {"name": "quality", "average": None}]
    statistics = {"total": 1_000_000, "average": 3.0, "histogram": HISTOGRAM, "aspects": aspects}
    unknown = {"errors": [{"message": "", "extensions": {"code": "NOT_FOUND"}}]}
    found = {"data": {"product": {"statistics": statistics, "comments": comments}}}

    async def answer(route: Route) -> None:
        """Answer like a server of another release, which does not have the document's id."""
        body = unknown if "documentId=" in route.request.url else found
        await route.fulfill(json=body, headers={"Access-Control-Allow-Origin": "*"})

    async with opened(chromium, server, locale=locale) as shop:
        await shop.context.route(f"{server.url}{API}", answer)
        await shop.goto(f"{ALLOWED}/")
        first = shop.locator("marginalia-comments").first
        await expect(first.get_by_text("1,000,000 comments")).to_be_visible()
        await expect(first.get_by_text("Thank <b>you</b>.")).to_be_visible()
        await expect(first.locator(".comment > .byline")).to_contain_text("Imported")
        for place, average, text in ((".summary", "2.5", "fit 2.5"), (".comment", "4", "fit")):
            items = first.locator(f"{place} > .aspects li")
            await expect(items).to_have_text(text)
            name = f"{average} out of 5 stars"
            await expect(items.get_by_role("img", name=name)).to_be_visible()
        await expect(first.locator(".incentive bdi")).to_have_text(str(ROW["incentive"]))
        page = "document.documentElement"
        assert await shop.evaluate(f"{page}.scrollWidth <= {page}.clientWidth")
        await expect(first.locator(".reply .byline")).to_contain_text(date)
        await expect(first.locator(".votes")).to_contain_text("3")
        await expect(first.locator("a > img.photo")).to_have_attribute("alt", "A kettle")
        others = first.locator("a[href='https://pictures.example/1.jpg']")
        await expect(others.locator("img")).to_have_count(0)
        await first.evaluate("element => element.setAttribute('write', '/account/write')")
        await expect(first.locator("a.write")).to_have_attribute("href", "/account/write")
        await first.evaluate("element => element.setAttribute('lang', 'FR-')")
        await expect(first.get_by_text("commentaires", exact=False).first).to_be_visible()


async def test_on_an_origin_that_is_not_allowed_the_element_keeps_its_content(shop: Page) -> None:
    async with shop.expect_console_message(lambda one: "marginalia-comments" in one.text):
        await shop.goto(f"{OTHER}/")
    await expect(shop.get_by_role("link", name="Read the comments")).to_be_visible()
    await expect(shop.get_by_role("button", name="Try again").first).to_be_visible()


CONTRAST = """element => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const style = getComputedStyle(element);
  const luminance = (colour) => {
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const linear = [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)]
      .map((one) => one / 255)
      .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const [less, more] = [style.color, style.backgroundColor].map(luminance).sort((a, b) => a - b);
  return (more + 0.05) / (less + 0.05);
}"""


async def test_the_label_of_a_button_has_contrast_on_every_colour(shop: Page) -> None:
    await shop.goto(f"{ALLOWED}/")
    first = shop.locator("marginalia-comments").first
    button = first.get_by_role("button", name="More comments")
    for colour in ("#fff", "#000", "#0b5d4e", "#777", "#767676", "gold", "hsl(300 60% 50%)"):
        for name in ("accent", "button"):
            await button.evaluate(
                """(element, [name, colour]) => element.getRootNode().host.style
                .setProperty(`--marginalia-${name}`, colour)""",
                [name, colour],
            )
        assert await button.evaluate(CONTRAST) >= 4.5, colour


async def test_signed_in_customers_vote_by_the_shops_jwt(shop: Page, server: Server) -> None:
    await shop.goto(f"{ALLOWED}/")
    first = shop.locator("marginalia-comments").first
    await expect(first.locator("li.comment")).to_have_count(3)
    await expect(first.locator("button.vote")).to_have_count(0)
    await first.evaluate(
        "(element, jwt) => { element.token = async () => jwt; }", token_of(server, "vera")
    )
    await expect(first.locator("button.vote")).to_have_count(3)
    vote = first.locator("button.vote").first
    for pressed in ("true", "false"):
        await vote.click()
        await expect(vote).to_have_attribute("aria-pressed", pressed)
    await first.evaluate("element => { element.token = () => null; }")
    await expect(first.locator("button.vote")).to_have_count(0)


async def test_the_page_of_the_widget_follows_its_form(page: Page, server: Server) -> None:
    await page.goto(f"{server.url}/widget?product=2&labels=ar&accent=%23ffd166")
    preview = page.locator("marginalia-comments")
    await expect(preview.locator("section")).to_have_attribute("dir", "rtl")
    assert await preview.locator("button.more").evaluate(CONTRAST) >= 4.5
    assert await violations(page) == []
    await page.locator("#labels").select_option("de")
    await page.locator("#theme").select_option("dark")
    await expect(preview.locator("section")).to_have_attribute("lang", "de")
    snippet = page.locator(".snippet")
    await expect(snippet).to_contain_text('<marginalia-comments product="2" lang="de">')
    await expect(snippet).to_contain_text("#ece9f0")
    assert "theme=dark" in page.url
    assert await violations(page) == []
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.locator("#copy").click()
    await expect(page.locator("#snippet [role=status]")).not_to_have_text("")
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied == await snippet.text_content()


async def test_the_widgets_script_is_small(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url) as client:
        answer = await client.get("/widget.js", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 15_000
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
