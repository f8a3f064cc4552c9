"""Where the pages put their parts, on a desktop, on a phone, and from right to left."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import NEEDS_CHROMIUM, Server, Witness
from tests.browser.test_pages import open_with_trend, width

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


BOTTOMS = """all => all.map(one => {
  const range = document.createRange();
  range.selectNodeContents(one);
  return (range.getClientRects()[0] ?? one.getBoundingClientRect()).bottom;
})"""
"""The bottoms of elements. A text counts by its first line: the machine's fonts decide the number
of its lines."""


ASPECTS = """lead => lead.insertAdjacentHTML("beforeend", `<div id="aspects"><ul class="aspects">
  ${"<li>Value for money 4.5</li>".repeat(6)}</ul></div>`)"""


async def test_the_first_screen_of_a_phone_shows_ratings_and_the_first_comment(
    phone: Page, server: Server, witness: Witness
) -> None:
    await open_with_trend(phone, f"{server.url}/products/1")
    for part in ("h1", ".score", ".filters .bar", ".comment .byline", ".comment .text"):
        bottoms = await phone.locator(part).evaluate_all(BOTTOMS)
        assert 0 < max(bottoms[:5] if part == ".filters .bar" else bottoms[:1]) <= 844, part
    # The server of this test has no aspects. Their list takes no room from the title.
    title = phone.locator(".lead h1")
    before = await title.bounding_box()
    await phone.locator(".lead > div").first.evaluate(ASPECTS)
    assert await title.bounding_box() == before
    orders = phone.locator(".order:not(.variants) a")
    assert len({await one.evaluate("one => one.offsetTop") for one in await orders.all()}) == 1
    await expect(phone.locator(".trend, .top nav")).to_have_count(2)
    for fold in ("#trend-fold", "#fold", "#menu"):
        content = phone.locator(f"{fold} + .folded")
        await expect(content).to_be_hidden()
        await phone.locator(f"{fold} > summary").click()
        await expect(content).to_be_visible()
    await expect(phone.get_by_role("link", name="Playground")).to_be_visible()
    # The selected order stays in view.
    await phone.goto(f"{server.url}/products/1?order=helpful")
    await expect(phone.locator(".order:not(.variants) [aria-current]")).to_be_in_viewport(ratio=1)


MIDDLES = """all => all.map(one => one.getBoundingClientRect()).filter(box => box.width > 1)
    .map(box => [Math.round(box.top + box.height / 2), (box.left + box.right) / 2])"""


@pytest.mark.parametrize("language", ["en", "fr", "ar"])
@pytest.mark.parametrize("width", [1280, 390])
async def test_the_ways_to_other_pages_are_one_control_in_the_middle(
    page: Page, server: Server, witness: Witness, language: str, width: int
) -> None:
    await page.set_viewport_size({"width": width, "height": 844})
    await page.goto(f"{server.url}/products/1?lang={language}")
    following = await page.locator(".pager a.onward").get_attribute("href")
    await page.goto(f"{server.url}{following}")
    pager = page.locator("#pages")
    box = await pager.bounding_box()
    assert box is not None
    # The rows: the button, the range of days on a phone, the links, the sizes of a page.
    rows: dict[int, list[float]] = {}
    for y, x in await pager.locator("> *").evaluate_all(MIDDLES):
        rows.setdefault(y, []).append(x)
    assert len(rows) == (3 if width == 1280 else 4)
    for xs in rows.values():
        assert abs((min(xs) + max(xs)) / 2 - (box["x"] + box["width"] / 2)) < 30


async def test_a_number_or_order_is_not_repeated(
    page: Page, server: Server, witness: Witness
) -> None:
    await page.goto(f"{server.url}/products/1")
    top = await page.locator(".lead, .list-head").all_inner_texts()
    assert len(re.findall(r"[\d,]+ comments", " ".join(top))) == 1
    assert len(re.findall(r"[Nn]ewest", " ".join(top))) == 1
    await page.goto(f"{server.url}/products/1?rating=1")
    await expect(page.locator(".found")).not_to_have_text("")


async def test_a_product_without_comments_has_no_bars_and_no_orders(
    page: Page, server: Server, witness: Witness
) -> None:
    for address in ("/products/unknown", "/products/unknown?rating=5&order=oldest"):
        await page.goto(server.url + address)
        await expect(page.locator("#comments-heading")).to_be_visible()
        assert await page.locator(".toggle, .order, .share-link, #filters:visible").count() == 0
    heading = await page.locator("#comments-heading").bounding_box()
    title = await page.locator("h1").bounding_box()
    assert heading
    assert title
    assert heading["x"] == title["x"]


async def test_the_comment_form_is_not_wider_than_a_phone(
    phone: Page, server: Server, witness: Witness
) -> None:
    await phone.goto(f"{server.url}/sign-in?next=/products/unknown")
    await phone.locator("button[name=demo][value=shopper]").click()
    # A visitor who speaks none of the languages in the list sees the list's longest text.
    await phone.set_extra_http_headers({"Accept-Language": "tlh"})
    for language in ("de", "fr"):
        await phone.goto(f"{server.url}/products/unknown?lang={language}#write")
        await expect(phone.locator("#language")).to_be_in_viewport()
        assert await width(phone) <= 390
