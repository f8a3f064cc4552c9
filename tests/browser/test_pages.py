"""The pages in Chromium, on a desktop and on a phone.

The tests of forms also run without scripts. ``tests/pages`` reads all pages without scripts.
"""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Browser, Locator, Page, Request, Route, expect

from pages.page_request import NOTICES
from tests.browser.conftest import NEEDS_CHROMIUM, Server, Witness
from tests.browser.test_graphiql import MARKS
from tests.browser.test_live import add
from tests.engines import ROOT
from tests.pages.conftest import invalid_html

pytestmark = NEEDS_CHROMIUM

AXE = (ROOT / "node_modules/axe-core/axe.min.js").read_text("utf-8")


class Reader:
    """A visitor of the pages, with or without scripts in the browser."""

    def __init__(self, page: Page, url: str, *, scripts: bool) -> None:
        self.page = page
        self.url = url
        self.scripts = scripts

    async def open(self, path: str) -> None:
        await self.page.goto(self.url + path)

    async def choose(self, start: str, end: str) -> None:
        """Fill in the dates, and click the button that applies them."""
        await self.filters.get_by_label("From", exact=True).fill(start)
        await self.filters.get_by_label("To", exact=True).fill(end)
        await self._submit()

    async def toggle(self, *labels: str) -> None:
        """Click toggles. Without scripts, click the button that applies them."""
        for label in labels:
            await self.filters.get_by_role("checkbox", name=label).click()
        if not self.scripts:
            await self._submit()

    async def _submit(self) -> None:
        """Click the button. Without scripts, wait for the next page."""
        button = self.filters.get_by_role("button", name="Show")
        if self.scripts:
            await button.click()
        else:
            async with self.page.expect_navigation():
                await button.click()

    @property
    def filters(self) -> Locator:
        return self.page.get_by_role("form", name="Which comments to show")

    @property
    def comments(self) -> Locator:
        return self.page.locator("article.comment")

    async def shown(self) -> list[str]:
        """Return the links of the comments' dates, which identify the comments."""
        await self.page.wait_for_load_state()  # the title of a page arrives before its comments
        links = self.comments.locator("a.date")
        found: list[str] = await links.evaluate_all("all => all.map(a => a.href)")
        return found

    @property
    def query(self) -> dict[str, list[str]]:
        return {name: sorted(v) for name, v in parse_qs(urlsplit(self.page.url).query).items()}

    async def sign_in(self, jwt: str) -> None:
        await self.open("/sign-in?next=/")
        await self.page.get_by_label("Your JWT").fill(jwt)
        await self.page.get_by_role("button", name="Sign in").click()
        await expect(self.page.locator(".viewer")).to_be_attached()


@pytest.fixture
async def reader(
    request: pytest.FixtureRequest, chromium: Browser, server: Server, witness: Witness
) -> AsyncIterator[Reader]:
    """Yield a visitor with scripts. Tests marked ``EITHER`` also run without scripts."""
    scripts = getattr(request, "param", True)
    async with await chromium.new_context(
        viewport={"width": 1280, "height": 800}, java_script_enabled=scripts
    ) as context:
        await witness.watch(context)
        yield Reader(await context.new_page(), server.url, scripts=scripts)


EITHER = pytest.mark.parametrize(
    "reader", [True, False], ids=["scripts", "no-scripts"], indirect=True
)


def said(witness: Witness, status: int | str) -> None:
    """Remove the browser's own errors about an expected status from the complaints."""
    assert any(str(status) in complaint for complaint in witness.complaints)
    witness.complaints[:] = [one for one in witness.complaints if str(status) not in one]


@EITHER
async def test_ratings_are_toggled(reader: Reader) -> None:
    await reader.open("/products/1")
    everything = await reader.shown()
    await reader.toggle("5 stars", "2 stars")
    await expect(reader.page).to_have_title("Copper kettle, 1.2 l, rated 2 or 5 · Marginalia")
    assert reader.query == {"rating": ["2", "5"]}
    stars = reader.comments.locator("[role=img]")
    await reader.page.wait_for_load_state()
    labels = await stars.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert set(labels) == {"2 out of 5 stars", "5 out of 5 stars"}
    await reader.toggle("5 stars")
    await expect(reader.page).to_have_title("Copper kettle, 1.2 l, rated 2 · Marginalia")
    await reader.page.go_back()
    await expect(reader.page).to_have_title("Copper kettle, 1.2 l, rated 2 or 5 · Marginalia")
    await expect(reader.filters.locator(":checked")).to_have_count(2)
    await reader.filters.get_by_role("link", name="Show all").click()
    await expect(reader.filters.locator(":checked")).to_have_count(0)
    assert await reader.shown() == everything


async def test_languages_are_chosen(reader: Reader) -> None:
    await reader.open("/products/1")
    await reader.toggle("Deutsch", "العربية")
    await expect(reader.page).to_have_title(
        "Copper kettle, 1.2 l, in العربية or Deutsch · Marginalia"
    )
    assert reader.query == {"language": ["ar", "de"]}
    await reader.page.wait_for_load_state()
    languages = await reader.comments.evaluate_all("all => all.map(one => one.lang)")
    assert set(languages) == {"ar", "de"}
    arabic = reader.page.locator("article[lang=ar] .text").first
    assert await arabic.evaluate("text => getComputedStyle(text).direction") == "rtl"


@EITHER
async def test_days_and_the_order_oldest_first_are_chosen(reader: Reader) -> None:
    await reader.open("/products/1?rating=5")
    await reader.page.get_by_role("link", name="Oldest first").click()
    title = "Copper kettle, 1.2 l, rated 5, oldest first"
    await expect(reader.page).to_have_title(f"{title} · Marginalia")
    await reader.choose("2024-06-01", "2024-12-20")
    days = "from 1 June 2024 to 20 December 2024"
    title = f"Copper kettle, 1.2 l, rated 5, {days}, oldest first"
    await expect(reader.page).to_have_title(f"{title} · Marginalia")
    assert reader.query == {
        "rating": ["5"],
        "from": ["2024-06-01"],
        "to": ["2024-12-20"],
        "order": ["oldest"],
    }
    first = await reader.shown()
    instants = reader.comments.locator("time").first
    assert (await instants.get_attribute("datetime") or "").startswith("2024-0")
    await reader.page.get_by_role("link", name="Newer").click()
    await expect(reader.page).to_have_title(f"{title}, newer comments · Marginalia")
    await reader.page.get_by_role("link", name="Older").click()
    await expect(reader.page).to_have_title(f"{title} · Marginalia")
    assert await reader.shown() == first
    await reader.filters.get_by_role("link", name="Show all").click()
    await expect(reader.filters.get_by_label("From")).to_have_value("")


async def test_the_order_and_verified_purchases_are_kept_while_filters_change(
    reader: Reader,
) -> None:
    await reader.open("/products/1")
    await reader.page.get_by_role("link", name="Highest rating").click()
    await expect(reader.page).to_have_title(re.compile("highest rating first"))
    await reader.toggle("Verified purchases")
    await expect(reader.page).to_have_title(
        "Copper kettle, 1.2 l, verified purchases only, highest rating first · Marginalia"
    )
    assert reader.query == {"verified": ["yes"], "order": ["highest"]}


async def test_a_filter_keeps_the_variants_and_an_order_that_is_still_loading(
    page: Page, server: Server
) -> None:
    loading = asyncio.Event()

    async def late(route: Route) -> None:
        await loading.wait()
        await route.continue_()

    every = f"{server.url}/products/1?variants=all"
    await page.goto(every)
    await page.route(f"{every}&order=highest", late)
    await page.get_by_role("link", name="Highest rating").click()
    async with page.expect_request(re.compile("verified=yes")) as filtered:
        await page.locator("#filters").get_by_role("checkbox", name="Verified").click()
    loading.set()
    assert urlsplit((await filtered.value).url).query == "verified=yes&variants=all&order=highest"
    async with page.expect_request(re.compile("photos=yes")) as filtered:
        await page.goto(every)
        await page.locator("#filters").get_by_role("checkbox", name="photos").click()
    assert urlsplit((await filtered.value).url).query == "photos=yes&variants=all"


async def test_a_search_is_in_the_field_and_the_address_after_each_filter(reader: Reader) -> None:
    await reader.open("/products/1")
    field = reader.filters.get_by_role("searchbox")
    await field.fill("kettle")
    await field.press("Enter")
    await expect(reader.page).to_have_url(re.compile(r"\?words=kettle$"))
    await reader.toggle("5 stars")
    await expect(reader.page).to_have_url(re.compile(r"\?rating=5&words=kettle$"))
    await expect(field).to_have_value("kettle")


async def test_a_selected_region_deselects_its_language_and_the_reverse(
    page: Page, server: Server, adas_jwt: str
) -> None:
    """Both together would find the same comments as the language alone."""
    for language in ("en-GB", "en-US", "de"):
        await add(server, adas_jwt, 5, "world", language)
    reader = Reader(page, server.url, scripts=True)
    await reader.open("/products/world")
    for label, query in (
        ("English 2", "language=en"),
        ("English (GB) 1", "language=en-GB"),
        ("Deutsch 1", "language=de&language=en-GB"),
        ("English 2", "language=de&language=en"),
    ):
        await reader.toggle(label)
        await page.wait_for_url(f"**/products/world?{query}")


async def test_a_filter_replaces_parts_of_the_page_and_keeps_the_focus(
    page: Page, server: Server
) -> None:
    """The clicked button keeps the focus. Going back works even without a focused element."""
    loads: list[str] = []

    def note(asked: Request) -> None:
        if asked.is_navigation_request():
            loads.append(asked.url)

    page.on("request", note)
    reader = Reader(page, server.url, scripts=True)
    await reader.open("/products/1?rating=5")
    await reader.choose("2024-06-01", "2024-12-20")
    await expect(page).to_have_title(re.compile("from 1 June 2024"))
    await expect(reader.filters.get_by_role("button", name="Show")).to_be_focused()
    await page.evaluate("document.activeElement.blur()")
    await page.go_back()
    await expect(page).to_have_title("Copper kettle, 1.2 l, rated 5 · Marginalia")
    await reader.toggle("4 stars")
    await expect(page).to_have_title("Copper kettle, 1.2 l, rated 4 or 5 · Marginalia")
    assert loads == [f"{server.url}/products/1?rating=5"]


async def test_a_toggle_during_a_response_is_applied(page: Page, server: Server) -> None:
    reader = Reader(page, server.url, scripts=True)
    await reader.open("/products/1")
    pressed = asyncio.Event()

    async def wait(route: Route) -> None:
        await pressed.wait()
        await route.fallback()

    await page.route("**/products/1?rating=5", wait)
    await reader.filters.get_by_role("checkbox", name="2 stars").hover()
    await page.locator("#rating-5").press("Space")
    await page.mouse.down()
    async with page.expect_event("requestfinished"):
        pressed.set()
    # Wait until the page is drawn.
    await page.evaluate("new Promise(done => setTimeout(done, 100))")
    await page.mouse.up()
    await expect(page).to_have_title("Copper kettle, 1.2 l, rated 2 or 5 · Marginalia")


async def test_without_cookies_the_address_keeps_the_language(page: Page, server: Server) -> None:
    await page.add_init_script(
        "Object.defineProperty(navigator, 'cookieEnabled', { get: () => false });"
    )
    await page.goto(f"{server.url}/products/1?rating=5&lang=de")
    await page.context.clear_cookies()
    await page.get_by_role("link", name="Älteste zuerst").click()
    await expect(page).to_have_title(re.compile("mit Bewertung 5, älteste zuerst"))
    assert parse_qs(urlsplit(page.url).query)["lang"] == ["de"]


async def test_page_links_lead_to_the_end_of_the_list_and_back(
    reader: Reader, chromium: Browser
) -> None:
    await reader.open("/products/7?rating=5")
    pager = reader.page.get_by_role("navigation", name="Pages", exact=True)
    older, newer = (reader.page.get_by_role("link", name=name) for name in ("Older", "Newer"))
    await expect(pager).to_contain_text("1\u201320 of 110")
    assert not await newer.count()
    first = await reader.shown()
    await older.click()
    await reader.page.wait_for_url("**after=**")
    second, address = await reader.shown(), reader.page.url
    assert len({*first, *second}) == 40
    shared = await chromium.new_page()
    await shared.goto(address)
    assert await Reader(shared, "", scripts=True).shown() == second
    await shared.close()
    await newer.click()
    await expect(pager).to_contain_text("1\u201320 of 110")
    assert await reader.shown() == first
    await reader.page.get_by_role("link", name="Skip to the page links").press("Enter")
    await reader.page.keyboard.press("Tab")
    await expect(reader.page.get_by_role("button", name="Show more")).to_be_focused()
    await reader.page.get_by_role("link", name="Last page").click()
    await expect(pager).to_contain_text("91\u2013110 of 110")
    assert not await older.count()


async def test_more_comments_follow_in_place(reader: Reader) -> None:
    await reader.open("/products/7?rating=5")
    pager = reader.page.get_by_role("navigation", name="Pages", exact=True)
    more = reader.page.get_by_role("button", name="Show more")
    await expect(more).to_be_visible()
    assert len(await reader.shown()) == 20  # no further comments before the first press
    await more.press("Enter")
    await expect(pager).to_contain_text("1\u201340 of 110")
    await expect(reader.comments.nth(20).locator("a").first).to_be_focused()
    # Then three pages follow by themselves, some before the next scroll.
    async with asyncio.timeout(60):
        while "1\u2013100 of 110" not in await pager.inner_text():
            await reader.comments.last.scroll_into_view_if_needed()
            await more.scroll_into_view_if_needed()
    await more.press("Enter")  # the fifth page needs another press
    await expect(pager).to_contain_text("1\u2013110 of 110")
    assert len(set(await reader.shown())) == 110
    assert not await more.count()
    assert not await reader.page.get_by_role("link", name="Older").count()


async def test_more_comments_that_cannot_be_read_leave_the_list_as_it_is(
    reader: Reader, witness: Witness
) -> None:
    asked: list[str] = []

    async def fail(route: Route) -> None:
        asked.append(route.request.url)
        await route.abort()

    await reader.open("/products/7?rating=5")
    address, shown = reader.page.url, await reader.shown()
    more = reader.page.get_by_role("button", name="Show more")
    error = reader.page.locator("#comments .error")
    await reader.page.route("**/products/7?**", fail)
    for presses in (1, 2):
        await more.click()
        await expect(error).to_have_count(1)
        await expect(more).not_to_have_attribute("aria-busy", "true")
        for _ in range(3):
            await reader.page.get_by_role("heading", level=1).scroll_into_view_if_needed()
            await more.scroll_into_view_if_needed()
        assert len(asked) == presses
        assert await reader.shown() == shown
    await reader.page.unroute("**/products/7?**")
    await more.click()
    await expect(reader.comments).to_have_count(40)
    assert (await reader.shown())[:20] == shown
    assert await error.count() == 0
    assert reader.page.url == address
    witness.complaints.clear()  # Chromium reports the failed requests


async def test_a_comment_has_its_own_page(reader: Reader) -> None:
    await reader.open("/products/3")
    title = reader.comments.locator("h3 a").first
    name = await title.inner_text()
    await title.click()
    await expect(reader.page.get_by_role("heading", level=1)).to_have_text(name)
    await reader.page.get_by_role("link", name="All 800 comments on this product").click()
    await expect(reader.page.get_by_role("heading", level=1)).to_have_text("Weekend backpack, 28 l")


@EITHER
async def test_a_comment_is_added_edited_and_deleted(
    reader: Reader, witness: Witness, adas_jwt: str
) -> None:
    page = reader.page
    await reader.sign_in(f'{{"Authorization": "Bearer {adas_jwt}"}}')
    await reader.open("/products/brush")
    await page.get_by_role("radio", name="4 stars").check()
    await expect(page.get_by_label("Language", exact=True)).to_have_value("en")
    await expect(page.get_by_label("Language code")).to_be_hidden()
    await page.get_by_label("Language", exact=True).select_option("*")
    await page.get_by_label("Language code").fill("not a tag")
    await page.get_by_label("Title").fill("It sweeps")
    await page.get_by_label("Comment", exact=True).fill("Well,\nmostly.")
    await page.get_by_role("button", name="Publish").click()
    error = page.locator("#language-error")
    await expect(error).to_contain_text("enter its code")
    await page.wait_for_load_state()  # wait for the style sheet
    red = await error.evaluate("one => getComputedStyle(one).color")
    await expect(page.get_by_label("Language code")).to_have_css("border-top-color", red)
    await expect(page.get_by_label("Title")).to_have_value("It sweeps")
    await expect(page.get_by_role("radio", name="4 stars")).to_be_checked()
    said(witness, 422)

    await page.get_by_label("Language code").fill("EN-gb")
    await page.get_by_role("button", name="Publish").dblclick()
    published = page.get_by_text(NOTICES["added"])
    await expect(published).to_be_visible()
    if reader.scripts:  # the script has put the comment into the list
        await expect(reader.comments).to_have_count(1)
        await expect(reader.comments.locator(".notice")).to_be_focused()
        # The form is empty, without the errors of the refused comment.
        form = page.locator("#write")
        await expect(form.get_by_label("Title")).to_have_value("")
        await expect(form.locator(".error, [aria-invalid]")).to_have_count(0)
        await expect(form.get_by_role("radio", name="4 stars")).not_to_be_checked()
        await reader.comments.locator("a.date").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("It sweeps")
    await page.get_by_text("Edit", exact=True).click()
    await page.get_by_label("Title").fill("It sweeps well")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("It sweeps well")
    await page.get_by_role("link", name="The only comment on this product").click()
    await expect(reader.comments).to_have_count(1)
    await expect(reader.comments).to_contain_text("English (GB)")

    await reader.comments.locator("a.date").click()
    await page.get_by_text("Delete", exact=True).click()
    await page.get_by_role("button", name="Delete permanently").click()
    await expect(page.get_by_role("status").first).to_contain_text(NOTICES["deleted"])
    await expect(reader.comments).to_have_count(0)
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("link", name="Sign in").first).to_be_visible()


async def test_a_draft_is_kept_until_it_is_stored(page: Page, server: Server) -> None:
    """In the demo, one click signs in. The stars are radio buttons, which keys can change."""
    reader = Reader(page, server.url, scripts=True)
    await reader.open("/products/draft")
    await page.get_by_role("button", name="Try it as “demo”").click()
    title, text = page.get_by_label("Title"), page.get_by_label("Comment", exact=True)
    await title.fill("Begun")
    await page.wait_for_load_state()  # otherwise the fragment in the address may move the focus
    await page.get_by_role("radio", name="3 stars").press("Space")
    await page.get_by_role("radio", name="3 stars").press("ArrowRight")
    await expect(page.get_by_text("Good", exact=True)).to_be_visible()
    await expect(page.locator("#title-hint")).to_have_text("5 / 200")
    await page.reload()
    await expect(title).to_have_value("Begun")
    await expect(page.get_by_role("radio", name="4 stars")).to_be_checked()
    await expect(page.get_by_text("We restored your draft.")).to_be_visible()
    await text.fill("And ended.")
    await page.get_by_role("button", name="Publish").click()
    await expect(reader.comments.locator(".notice")).to_be_visible()
    await expect(title).to_have_value("")
    await reader.open("/products/draft")
    await expect(page.locator(".room").first).to_have_text("up to 200 characters")
    await expect(title).to_have_value("")
    await reader.open("/products/draft?lang=ar")
    await page.locator("#title").fill("Begun")
    await expect(page.locator("#title-hint")).to_have_text("5 / 200")


async def test_a_copied_link_shows_a_notice_for_a_while(page: Page, server: Server) -> None:
    keep = "navigator.clipboard.writeText = async (text) => { window.copied = text; };"
    await page.add_init_script(keep)  # a headless browser has no clipboard
    now = datetime.now(UTC)
    await page.clock.install(time=now)
    await page.goto(f"{server.url}/products/1")
    # Otherwise the notice could end too soon on a busy machine.
    await page.clock.pause_at(now + timedelta(hours=1))
    link = page.locator(".list-head .share-link")  # found by its class, because its text changes
    await link.click()
    await expect(link).to_have_text("Copied")
    await expect(link).to_have_role("link")
    await expect(page.get_by_role("status").and_(page.get_by_text("Copied"))).to_have_count(1)
    await page.clock.run_for(1_000)
    await link.click()
    assert await page.evaluate("window.copied") == f"{server.url}/products/1"
    await page.clock.run_for(3_000)
    await expect(link).to_have_text("Link")


HOSTILE = "<script>alert(1)</script></script><!-- 👩‍👩‍👧‍👦 غلاية \u202e" + "x" * 9_000
SHOWN = HOSTILE.replace("\u202e", "")  # marks that reverse the following text are not stored


async def test_markup_in_a_comment_is_shown_as_text(
    chromium: Browser, server: Server, witness: Witness, adas_jwt: str
) -> None:
    async with await chromium.new_context(
        viewport={"width": 390, "height": 844}, is_mobile=True
    ) as context:
        await witness.watch(context)
        reader = Reader(await context.new_page(), server.url, scripts=True)
        dialogues: list[str] = []
        reader.page.on("dialog", lambda dialogue: dialogues.append(dialogue.message))
        await reader.sign_in(adas_jwt)
        await reader.open("/products/trap")
        await reader.page.get_by_role("radio", name="1 star").check()
        await reader.page.get_by_label("Language", exact=True).select_option("ar")
        await reader.page.get_by_label("Title").fill(HOSTILE[:200])
        await reader.page.get_by_label("Comment", exact=True).fill(HOSTILE)
        await reader.page.get_by_role("button", name="Publish").click()
        for _ in range(2):
            await expect(reader.comments.locator(".text")).to_have_text(SHOWN)
            assert await width(reader.page) <= 390
            await reader.open("/products/trap")
        assert dialogues == []


async def width(page: Page) -> int:
    """Return the width of the page's content after its style sheet is loaded."""
    await page.wait_for_load_state()
    found: int = await page.evaluate("document.documentElement.scrollWidth")
    return found


async def open_with_trend(page: Page, address: str) -> None:
    """Open a page until its trend is drawn, because a busy server omits it."""
    await page.goto(address)
    async with asyncio.timeout(60):
        while not await page.locator(".trend").count():
            await page.reload()


async def test_the_keyboard_reaches_everything(page: Page, server: Server) -> None:
    await open_with_trend(page, f"{server.url}/products/2")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Write a comment")).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(page.locator(".trend summary")).to_be_focused()
    for helpful in await page.locator(".highlights a").all():
        await page.keyboard.press("Tab")
        await expect(helpful).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(page.locator("#rating-5")).to_be_focused()
    await page.keyboard.press("Space")
    await expect(page).to_have_title("Quiet headphones, rated 5 · Marginalia")
    await expect(page.locator("#rating-5")).to_be_focused()
    await expect(page.get_by_role("status").first).to_contain_text("comments match")
    await page.get_by_role("link", name="Older").press("Enter")
    await expect(page.locator("#comments-heading")).to_be_focused()


@EITHER
async def test_a_visitor_who_tries_the_demo_returns_to_the_filtered_list(reader: Reader) -> None:
    await reader.open("/products/7?order=oldest")
    await reader.toggle("5 stars")
    await expect(reader.page).to_have_title(re.compile("rated 5"))
    header = reader.page.get_by_role("banner").get_by_role("link", name="Sign in")
    assert "rating%3D5" in str(await header.get_attribute("href"))
    await reader.page.get_by_role("button", name="Try it as “demo”").click()
    await reader.page.wait_for_url(re.compile(r"/products/7\?.*#write$"))
    assert reader.query == {"rating": ["5"], "order": ["oldest"]}
    await expect(reader.page.get_by_role("button", name="Publish")).to_be_visible()


SHIFTED = """() => new Promise(done => {
    let sum = 0;
    new PerformanceObserver(list => list.getEntries().forEach(one => { sum += one.value; }))
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(sum), 200);
})"""


@EITHER
async def test_a_visitor_finds_the_parts_of_a_product_page(
    reader: Reader, witness: Witness
) -> None:
    page = reader.page
    await open_with_trend(page, f"{reader.url}/products/1")
    if reader.scripts:
        assert await page.evaluate(SHIFTED) == 0
    await expect(page.get_by_role("link", name="Older")).to_be_visible()
    await expect(page.get_by_text("Link", exact=True)).to_have_count(1)
    assert all(await reader.comments.locator("h3").all_inner_texts())
    await expect(page.get_by_text("Without a title")).to_have_count(0)
    stars, most = await page.locator(".plot .scale").all()
    await expect(stars).to_have_text("5 ★3 ★1 ★")
    await expect(most).to_have_text(re.compile(r"[1-9]\d+0"))
    await expect(page.locator(".plot .ends")).to_contain_text("January 2022")
    # Months without comments at the ends are not drawn.
    assert 36 <= await page.locator(".plot rect").count() <= 37
    badge = await page.locator("#plan > summary").bounding_box()
    last = await reader.comments.last.bounding_box()
    assert badge
    assert last
    assert badge["y"] > last["y"] + last["height"]
    photo = reader.comments.locator(".photos img").first
    await photo.scroll_into_view_if_needed()
    await photo.evaluate("one => one.decode()")
    await reader.toggle("1 star")
    await expect(page.locator(".found")).to_have_text(re.compile(r"^\d+ comments match$"))
    await reader.open("/")
    await expect(page.locator("li:has(h2) span.picture")).to_have_count(0)
    await page.get_by_placeholder("Title or product number").fill("copper kettle, 1.2")
    await page.get_by_role("button", name="Search").click()
    await expect(page.get_by_role("heading", level=2)).to_have_text("Copper kettle, 1.2 l")
    await reader.open("/playground")
    if reader.scripts:
        assert await page.evaluate(SHIFTED) == 0
    await reader.open("/sign-out")  # this address accepts only POST
    await expect(page.get_by_role("heading", level=1)).to_have_text("Page not available")
    said(witness, 405)


CUT_OFF = """all => all
    .map(one => [one.getBoundingClientRect(), one.ownerSVGElement.getBoundingClientRect(), one])
    .filter(([box, all]) => box.left < all.left - 1 || box.right > all.right + 1)
    .map(([,, one]) => one.textContent)"""


@pytest.mark.parametrize("scripts", [True, False])
async def test_the_plan_is_next_to_the_list_and_on_a_phone_below_its_heading(
    chromium: Browser, witness: Witness, server: Server, *, scripts: bool
) -> None:
    """The sheet with the plan stays open while a script replaces the list."""
    async with await chromium.new_context(
        viewport={"width": 1280, "height": 800}, java_script_enabled=scripts
    ) as context:
        await witness.watch(context)
        page = await context.new_page()
        sheet, heading = page.locator(".sheet"), page.locator("#comments-heading")
        for language in ("ar", "en"):
            address = f"/products/1?rating=1&rating=4&language=de&language=en&lang={language}"
            await page.goto(server.url + address)
            await expect(sheet).to_be_hidden()
            await page.locator("#plan > summary").press("Enter")
            await expect(sheet.locator(".lanes > svg")).to_be_visible()
            beside, main = await sheet.bounding_box(), await page.locator("#main").bounding_box()
            assert beside is not None
            assert main is not None
            assert await sheet.locator(".lanes text").evaluate_all(CUT_OFF) == []
            first, second = sorted((main, beside), key=lambda box: box["x"])
            assert first["x"] + first["width"] <= second["x"]
        shown = await page.locator(".comment").count()
        assert len(await sheet.locator(".mark.taken").evaluate_all(MARKS)) == shown
        if scripts:
            await page.locator("#rating-5").check()
            await expect(page).to_have_title(re.compile("rated 1, 4 or 5"))
            await expect(sheet).to_be_visible()
            await expect(sheet.locator(".saved")).to_be_visible()
        await page.set_viewport_size({"width": 390, "height": 800})
        below, head = await sheet.bounding_box(), await heading.bounding_box()
        assert below is not None
        assert head is not None
        assert below["y"] > head["y"]
        assert below["x"] + below["width"] <= 390
        for more in await sheet.locator("summary").all():
            await more.click()
        assert await width(page) <= 390


async def test_a_list_that_saves_nothing_says_so(page: Page, server: Server) -> None:
    await page.goto(f"{server.url}/products/1")
    await page.locator("#plan > summary").click()
    await expect(page.locator(".costs.same")).to_be_visible()
    ours, articles = json.loads(await page.evaluate("sessionStorage.getItem('capacity')"))
    assert ours == articles > 0
    await expect(page.locator(".saved")).to_be_hidden()


async def test_the_plan_opens_in_graphiql(page: Page, server: Server) -> None:
    """GraphiQL already has tabs in this browser.

    The link opens one tab once, even after a reload.
    """
    await page.goto(f"{server.url}/graphql")
    await expect(page.locator(".graphiql-tab-button")).to_have_count(2)
    await page.locator(".graphiql-execute-button").click()
    await page.wait_for_function("() => localStorage.getItem('graphiql:tabState') !== null")
    await page.goto(f"{server.url}/products/1?rating=1&rating=2&language=de")
    titles = await Reader(page, "", scripts=True).comments.locator("h3").all_inner_texts()
    await page.locator("#plan > summary").click()
    await page.get_by_role("link", name="Open this query in GraphiQL").click()
    for _ in range(2):
        tabs = page.locator(".graphiql-tab-button")
        await expect(tabs).to_have_text(["NewestComments", "AddComment", "Product"])
        assert page.url == f"{server.url}/graphql"
        await page.reload()
    await page.locator(".graphiql-execute-button").click()
    result = page.locator(".result-window")
    await expect(result.locator(".CodeMirror-code")).to_contain_text('"commentId"')
    answer = await result.locator(".CodeMirror").evaluate("editor => editor.CodeMirror.getValue()")
    assert all(title in answer for title in titles)


PAGES = (
    "/",
    "/products/7?rating=1&rating=4&language=ar&from=2024-01-01&order=oldest",
    "/products/8?rating=1&language=ja",  # no comment has this rating and language
    "/products/unheard-of",
    "/comments/demo-00008",
    "/authors/wakana64",
    "/sign-in",
    "/playground",
    "/widget",
    "/comments/none",
)


OWN_PAGES = (
    "/orders?status=PLACED",
    "/tickets?user=demo&order=oldest",
    "/tickets/demo-ticket-001",
    "/orders?lang=ar",
)
"""Pages for the demo's shopper."""


async def test_axe_and_the_validator_find_no_fault_in_orders_and_tickets(
    page: Page, server: Server, tmp_path: Path
) -> None:
    await page.goto(f"{server.url}/sign-in?next={OWN_PAGES[0]}")
    await page.get_by_role("button", name="Try it as shopper").click()
    await page.wait_for_url(f"**{OWN_PAGES[0]}")
    for number, path in enumerate(OWN_PAGES):
        await look(page, f"{server.url}{path}", tmp_path / f"{number}.html")
        await expect(page.locator("article.card, .entries > li.card").first).to_be_visible()
        await page.set_viewport_size({"width": 320, "height": 800})
        assert await width(page) <= 320, path
    assert invalid_html(tmp_path) == []


async def test_axe_and_the_validator_find_no_fault(
    page: Page, server: Server, witness: Witness, adas_jwt: str, tmp_path: Path
) -> None:
    """Each page is checked on a light desktop and on a dark phone, also signed in and
    with errors.
    """
    for number, path in enumerate(PAGES):
        await look(page, f"{server.url}{path}", tmp_path / f"{number}.html")
    said(witness, 404)
    await look(page, f"{server.url}/products/1?lang=ar", tmp_path / "arabic.html")
    await expect(page.locator("html[dir=rtl] #comments-heading")).to_have_text("التعليقات")
    # The languages with the longest words on each page.
    for wide in ("/?lang=fr", "/playground?lang=de", "/products/1?lang=es"):
        await page.set_viewport_size({"width": 320, "height": 800})
        await page.goto(server.url + wide)
        assert await width(page) <= 320, wide
    await page.goto(f"{server.url}/?lang=en")
    await Reader(page, server.url, scripts=True).sign_in(adas_jwt)
    await look(page, f"{server.url}/products/8?rating=5", tmp_path / "signed-in.html")
    await page.locator(".comment-form").evaluate("form => form.noValidate = true")
    async with page.expect_response(f"{server.url}/products/8?list=**") as posted:
        await page.get_by_role("button", name="Publish").click()
    await expect(page.locator("#rating-error")).to_be_visible()
    await page.wait_for_load_state()
    (tmp_path / "errors.html").write_bytes(await (await posted.value).body())
    assert await violations(page) == []
    said(witness, 422)
    shutil.copytree(ROOT / "pages/static/graphiql", tmp_path, dirs_exist_ok=True)
    assert invalid_html(tmp_path) == []


SPILLED = """box => [...box.querySelectorAll("label, input, button, legend, p")].filter(one =>
    one.getBoundingClientRect().right > box.getBoundingClientRect().right)"""


async def look(page: Page, address: str, file: Path) -> None:
    """Check a page with axe, and store it for the HTML validator."""
    await page.set_viewport_size({"width": 1280, "height": 800})
    await page.emulate_media(color_scheme="light")
    answer = await page.goto(address)
    assert answer is not None
    file.write_bytes(await answer.body())  # noqa: ASYNC240 - a small file of a test
    if await page.locator("#plan").count():
        await page.locator("#plan > summary").click()
    assert await violations(page) == [], address
    await page.emulate_media(color_scheme="dark")
    for pixels in (320, 390):
        await page.set_viewport_size({"width": pixels, "height": 800})
        assert await width(page) <= pixels, address
        if pixels == 320 and await page.locator("#fold").count():
            await page.locator("#fold > summary").click()
            assert await page.locator(".filters > .folded").evaluate(SPILLED) == []
    header = await page.locator(".top").bounding_box()
    assert header is not None
    assert header["height"] < 65, address  # one line
    assert await violations(page, "color-contrast") == [], address


async def violations(page: Page, *rules: str) -> list[str]:
    """Return axe's findings for the current page. ``rules`` limits them to some rules."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE)
    options = {"resultTypes": ["violations"]} | ({"runOnly": [*rules]} if rules else {})
    found = await page.evaluate("options => axe.run(options)", options)
    assert found["passes"]
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found["violations"]]
