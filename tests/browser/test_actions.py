"""Comments are edited, deleted and reported in the list, by the keyboard alone."""

import asyncio
import re

from playwright.async_api import Page, Route, expect

from dal.model.rules import MAX_TITLE
from pages.page_request import NOTICES
from tests.browser.conftest import NEEDS_CHROMIUM, Server, Witness
from tests.browser.test_live import add
from tests.browser.test_pages import AXE, Reader, said

pytestmark = NEEDS_CHROMIUM


async def typed(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)


async def test_a_comment_is_edited_and_deleted_in_the_list_by_keyboard(
    page: Page, server: Server, witness: Witness, adas_jwt: str
) -> None:
    reader = Reader(page, server.url, scripts=True)
    await reader.sign_in(adas_jwt)
    await reader.open("/products/in-place")
    mine = page.get_by_role("link", name="My comments")
    await expect(mine).to_have_attribute("href", "/authors/ada")
    await page.get_by_role("radio", name="4 stars").focus()
    await typed(page, "Space", "Tab", "Tab")  # the browser's language is selected already
    await page.keyboard.type("It sweeps")
    await page.keyboard.press("Tab")
    await page.keyboard.type("Mostly.")
    # The response is delayed. Until it arrives, the list shows the typed text.
    late = asyncio.Event()

    async def wait(route: Route) -> None:
        await late.wait()
        await route.fallback()

    await page.route("**/products/in-place?list=*", wait)
    await page.get_by_role("button", name="Publish").press("Enter")
    await expect(reader.comments.locator("h3")).to_have_text("It sweeps")
    await expect(reader.comments).to_have_attribute("aria-busy", "true")
    late.set()
    card, edit = reader.comments.first, page.locator("form#edit")
    await expect(card.locator(".notice")).to_be_focused()
    await expect(card.locator(".notice")).to_contain_text(NOTICES["added"])
    await expect(page.locator("#news")).to_have_text("")  # a tab does not announce its own comment
    await expect(page.get_by_text("No comments yet")).to_have_count(0)
    await page.get_by_role("link", name="Edit").press("Enter")
    await expect(edit.get_by_role("radio", name="4 stars")).to_be_focused()
    await page.evaluate(AXE)
    found = await page.evaluate("axe.run(document.querySelector('.in-place'))")
    assert [one["id"] for one in found["violations"]] == []
    await typed(page, "ArrowRight", "Tab", "Tab")
    await page.keyboard.type("It cleans")

    late.clear()
    await page.route("**/comments/*", wait)
    await page.keyboard.press("Enter")
    await expect(page.locator(".comment:visible h3")).to_have_text("It cleans")
    await expect(edit).to_be_hidden()
    late.set()
    await expect(card.locator(".notice")).to_be_focused()
    await expect(card.locator(".notice")).to_contain_text(NOTICES["changed"])
    await expect(card.locator(".stars").first).to_have_attribute("aria-label", "5 out of 5 stars")
    await page.unroute("**/comments/*")

    await page.get_by_role("link", name="Delete").press("Enter")
    await expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    await typed(page, "Shift+Tab", "Enter")
    await expect(page.locator(".notice:focus")).to_contain_text(NOTICES["deleted"])
    await expect(reader.comments).to_have_count(0)


async def test_a_refused_form_is_shown_again_with_the_reason_and_the_text(
    page: Page, server: Server, witness: Witness
) -> None:
    reader = Reader(page, server.url, scripts=True)
    await reader.open("/products/1")
    await page.get_by_role("button", name="Try it as").click()
    await page.get_by_role("link", name="Report").first.press("Enter")
    form, text = page.locator("form#report"), page.get_by_label("Explanation")
    await page.get_by_role("radio", name="Another reason").press("Space")
    await form.get_by_role("button", name="Send report").press("Enter")
    await expect(page.locator("#report-text-error")).to_contain_text("few words")
    await expect(page.locator(".errors")).to_be_focused()
    said(witness, 422)
    await text.fill("Kept.")
    await page.route("**/comments/*", lambda route: route.abort())
    await form.get_by_role("button", name="Send report").press("Enter")
    await expect(page.locator(".errors")).to_contain_text("Check your connection")
    await expect(text).to_have_value("Kept.")
    said(witness, "ERR_FAILED")
    await page.unroute("**/comments/*")
    await form.get_by_role("button", name="Cancel").press("Enter")
    await expect(page.get_by_role("link", name="Report").first).to_be_focused()
    await page.keyboard.press("Enter")
    await page.get_by_role("radio", name="Advertising").press("Space")
    await form.get_by_role("button", name="Send report").press("Enter")
    await expect(page.locator(".comment .notice")).to_contain_text(NOTICES["reported"])
    await expect(page.get_by_role("link", name="Report")).to_have_count(20)


async def test_counts_bars_and_languages_follow_each_action_at_once(
    page: Page, server: Server, witness: Witness, adas_jwt: str
) -> None:
    """An action sends one form, and follows one redirect."""
    reader = Reader(page, server.url, scripts=True)
    await reader.sign_in(adas_jwt)
    await reader.open("/products/counted")
    score, rows = page.locator("#score"), page.locator(".toggle .count")
    notice, found = page.locator(".notice:focus"), page.locator("#found")
    await expect(rows).to_have_count(0)
    await page.get_by_role("radio", name="4 stars").focus()
    await page.keyboard.press("Space")
    await page.get_by_label("Comment", exact=True).fill("It counts.")
    before = len(witness.requests)
    await page.get_by_role("button", name="Publish").click()
    await expect(notice).to_be_visible()
    await expect(score).to_contain_text("4.0 from 1 comment")
    await expect(rows).to_have_text(["0", "1", "0", "0", "0"])
    await expect(page.locator(".chips [value=en] + span small")).to_have_text("1")
    await expect(page).to_have_title(re.compile("4.0 of 5 stars from 1 comment"))
    assert len(witness.requests) - before == 2
    await page.locator("#rating-4").check()  # the new filters work
    await expect(found).to_contain_text("1 comment matches")
    await page.get_by_role("link", name="Edit").click()
    await page.locator("#edit").get_by_role("radio", name="5 stars").check()
    await page.locator("#edit").get_by_role("button", name="Save").click()
    await expect(notice).to_be_visible()
    await expect(score).to_contain_text("5.0 from 1 comment")
    await expect(rows).to_have_text(["1", "0", "0", "0", "0"])
    await expect(found).to_contain_text("0 comments match")
    await reader.open("/products/counted")
    await page.get_by_role("link", name="Delete").click()
    await page.get_by_role("button", name="Delete permanently").click()
    await expect(notice).to_be_visible()
    await expect(score).to_contain_text("No comments yet")
    await expect(rows).to_have_count(0)


async def test_the_place_in_a_long_list_follows_a_deletion(
    page: Page, server: Server, witness: Witness, adas_jwt: str
) -> None:
    for _ in range(21):
        await add(server, adas_jwt, 3, "placed")
    reader = Reader(page, server.url, scripts=True)
    await reader.sign_in(adas_jwt)
    await reader.open("/products/placed")
    await expect(page.locator(".place")).to_have_text("1\u201320 of 21")
    await page.get_by_role("link", name="Delete").first.click()
    await page.get_by_role("button", name="Delete permanently").click()
    await expect(page.locator(".notice:focus")).to_be_visible()
    await expect(page.locator(".place")).to_have_text("1\u201319 of 20")


async def test_errors_leave_with_their_cause_and_no_emoji_is_cut(
    page: Page, server: Server, witness: Witness, adas_jwt: str
) -> None:
    reader = Reader(page, server.url, scripts=True)
    await reader.sign_in(adas_jwt)
    await reader.open("/products/8")
    form, title = page.locator(".comment-form"), page.locator("#title")
    await title.focus()
    await page.keyboard.insert_text("x" * (MAX_TITLE - 1) + "\N{GRINNING FACE}")
    await expect(title).to_have_value("x" * (MAX_TITLE - 1) + "\N{GRINNING FACE}")
    await expect(page.locator("#title-hint")).to_contain_text(f"{MAX_TITLE} / {MAX_TITLE}")
    assert await title.evaluate("one => one.checkValidity()")
    await page.keyboard.insert_text("\N{GRINNING FACE}")
    await expect(page.locator("#title-hint.error")).to_contain_text(f"{MAX_TITLE + 1}")
    assert not await title.evaluate("one => one.checkValidity()")
    await form.evaluate("form => form.noValidate = true")
    await page.get_by_role("button", name="Publish").click()
    await expect(page.locator("#rating-error, #title-error, #text-error")).to_have_count(3)
    said(witness, 422)
    await expect(form.locator("[aria-invalid]")).to_have_count(3)
    await page.get_by_role("radio", name="4 stars").check()
    await page.locator("#text").fill("Enough.")
    await expect(page.locator("#title-error")).to_be_visible()
    await expect(page.locator("#rating-error, #text-error")).to_have_count(0)
    await expect(form.locator(".errors")).to_be_visible()
    await title.fill("Short")
    await expect(form.locator(".error, .errors, [aria-invalid]")).to_have_count(0)
    await expect(title).to_have_attribute("aria-describedby", "title-hint")
    assert await page.locator("#text").get_attribute("aria-describedby") == "text-hint"
