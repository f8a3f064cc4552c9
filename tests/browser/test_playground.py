"""The playground: its picture in the first viewport, the film of the merge, and its steps."""

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import NEEDS_CHROMIUM, Server, Witness

pytestmark = NEEDS_CHROMIUM

SHOWN = "film => getComputedStyle(film).display !== 'none' && \
getComputedStyle(film).visibility === 'visible'"
"""Returns whether the film of a drawing is visible."""

COVERED = "film => film.querySelector('.cover').getBoundingClientRect().left"
"""Returns where the part of the list begins that the film covers."""

OVERLAPS = """texts => {
    const boxes = texts.map(one => one.getBoundingClientRect());
    return boxes.filter((a, n) => boxes.some((b, m) => n < m && a.left < b.right && b.left < a.right
        && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length;
}"""
"""Returns how many texts of a drawing overlap others."""


@pytest.mark.parametrize(
    ("size", "language"), [((1280, 800), "en"), ((390, 844), "en"), ((390, 844), "de")]
)
async def test_the_picture_is_in_the_first_viewport(
    page: Page, server: Server, size: tuple[int, int], language: str
) -> None:
    await page.set_viewport_size({"width": size[0], "height": size[1]})
    await page.goto(f"{server.url}/playground?lang={language}")
    drawing = page.locator("main > .lanes > svg")
    box = await drawing.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size[0]
    assert box["y"] + box["height"] <= size[1]
    examples = await page.locator(".examples").bounding_box()
    assert examples
    assert examples["y"] + examples["height"] <= box["y"]
    assert examples["height"] < 60, "one row"
    assert await drawing.locator("text").evaluate_all(OVERLAPS) == 0
    assert await drawing.locator(".title").count() == 2
    assert await drawing.locator(".many").count() == 2 * 4
    assert await page.evaluate("document.documentElement.scrollWidth") <= size[0]
    marks = await drawing.locator(".mark").evaluate_all(
        "marks => [...new Set(marks.map(one => one.ownerSVGElement.viewBox.baseVal.width))]"
    )
    assert len(marks) == 1, "both plans have one scale"
    for choice in await page.locator(".choice, .verdict, .sent, .ranges").all():
        below = await choice.bounding_box()
        assert below
        assert below["y"] >= box["y"] + box["height"]


@pytest.mark.parametrize("scripts", [True, False])
async def test_the_film_ends_as_the_finished_drawing_and_needs_no_script(
    chromium: Browser, witness: Witness, server: Server, *, scripts: bool
) -> None:
    async with await chromium.new_context(java_script_enabled=scripts) as context:
        await witness.watch(context)
        page = await context.new_page()
        await page.goto(f"{server.url}/playground")
        film = page.locator(".film")
        first = await film.evaluate(COVERED)
        await expect(film).to_be_hidden()
        assert await film.evaluate(COVERED) == first, "nothing is covered after the film"
        await expect(page.locator(".stepper")).to_be_visible(visible=scripts)
        await expect(page.locator(".moves li")).to_have_count(20)


async def test_reduced_motion_shows_the_finished_drawing_and_steps(
    chromium: Browser, witness: Witness, server: Server
) -> None:
    """The visitor moves the slider by keys. A screen reader gets the text of each step."""
    async with await chromium.new_context(reduced_motion="reduce") as context:
        await witness.watch(context)
        page = await context.new_page()
        await page.goto(f"{server.url}/playground")
        film, slider = page.locator(".film"), page.get_by_role("slider")
        assert not await film.evaluate(SHOWN)
        covered = list[float]()
        for key, row in (("Home", 1), ("ArrowRight", 2), ("PageUp", 4), ("End", 20)):
            await slider.press(key)
            assert await slider.input_value() == str(row)
            told = await slider.get_attribute("aria-valuetext")
            assert told is not None
            assert told.startswith(f"Row {row} of 20")
            await expect(page.locator(".move")).to_contain_text(f"Row {row} of 20")
            await page.wait_for_function(
                f"x => ({COVERED})(document.querySelector('.film')) > x",
                arg=covered[-1] if covered else 0,
            )
            covered.append(await film.evaluate(COVERED))
            assert await film.evaluate(SHOWN)
        assert covered == sorted(set(covered))
        await page.locator("#play").click()
        await expect(slider).to_have_value("2")
        await page.locator("#play").click()


async def test_commands_are_copied_and_ranges_are_readable(page: Page, server: Server) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.goto(f"{server.url}/playground")
    first = page.locator(".queries > li").first
    await first.get_by_role("button").click()
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied == await first.locator("pre").text_content()
    assert copied.startswith("aws dynamodb query ")
    for table in await page.locator(".ranges .scroller").all():
        assert await table.evaluate("one => one.scrollWidth - one.clientWidth") <= 1
    assert await page.locator(".ranges .range code").first.is_visible()
