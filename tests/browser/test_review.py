"""Customers who comment by a link in Chromium, on a phone."""

import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from features.invitations.model import SCOPE
from pages.page_request import NOTICES
from server.auth.authenticator import sign
from tests.browser.conftest import NEEDS_CHROMIUM, Server, Witness
from tests.browser.test_pages import look, width
from tests.pages.conftest import invalid_html

pytestmark = NEEDS_CHROMIUM


def link(server: Server, *products: str, **parameters: str) -> str:
    """Return the address of a link for an order that has the name of its first product."""
    claims = {
        "scope": SCOPE,
        "sub": "lena",
        "name": "Lena S.",
        "order": products[0],
        "products": products,
        "incentive": "A voucher of €5",
        "iat": time.time() - 60,
        "exp": time.time() + 86_400,
    }
    jwt = sign((server.data_dir / "jwt-secret").read_text().strip(), claims)
    return f"{server.url}/review?{urlencode({'invitation': jwt, **parameters})}"


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
async def test_a_customer_comments_on_the_products_of_an_order(
    chromium: Browser, server: Server, witness: Witness, scripts: bool
) -> None:
    async with await chromium.new_context(
        viewport={"width": 390, "height": 844},
        is_mobile=True,
        has_touch=True,
        java_script_enabled=scripts,
    ) as context:
        await witness.watch(context)
        page = await context.new_page()
        products = [f"linked-{scripts}-{number}" for number in (1, 2)]
        address = link(server, *products)
        await page.goto(address)
        for name in products:
            await expect(page.locator("h1")).to_contain_text(name)
            await expect(page.locator(".rated")).to_be_in_viewport(ratio=1)
            assert await width(page) <= 390
            await page.get_by_role("radio", name="4 stars").check()
            await page.get_by_label("Comment", exact=True).fill(f"About {name}.")
            await page.get_by_role("button", name="Publish").click()
            await expect(page.locator("#notice")).to_have_text(NOTICES["added"])
            await expect(page.locator("#notice")).to_be_in_viewport()
        await expect(page.locator(".comment .text")).to_have_text(
            [f"About {name}." for name in products]
        )
        assert await width(page) <= 390
        assert await context.cookies() == []
        async with page.expect_request("**/comments/*") as followed:
            await page.get_by_role("link", name="Read the comment").first.click()
        assert "referer" not in await (await followed.value).all_headers()
        # Also without a header that would reveal the link, other requests lack its JWT.
        signature = address.rpartition(".")[2]
        assert {url.split("?")[0] for url in witness.requests if signature in url} == {
            f"{server.url}/review"
        }


async def test_scripts_send_the_links_jwt_for_uploads(
    phone: Page, server: Server, witness: Witness
) -> None:
    """The server of this test has no bucket, so the test adds the field of the form."""
    await phone.goto(link(server, "uploaded"))
    field = """<div class="field" data-uploads="/photo-uploads" data-bytes="9">
        <input type="file" accept="image/png" multiple><p role="status"></p></div>"""
    await phone.locator(".photo-fields > summary").click()
    await phone.locator(".photo-fields").evaluate(
        "(box, field) => box.insertAdjacentHTML('beforeend', field)", field
    )
    picture = FilePayload(name="a.png", mimeType="image/png", buffer=b"png")
    async with phone.expect_request("**/photo-uploads") as sent:
        await phone.locator("input[type=file]").set_input_files([picture])
    posted = (await sent.value).post_data or ""
    jwt = await phone.locator("input[name=grant]").input_value()
    assert f"grant={jwt}" in posted
    await expect(phone.locator("input[type=file]")).to_be_enabled()
    witness.complaints.clear()  # the browser reports that the server refuses


async def test_axe_and_the_validator_find_no_fault_in_the_links_page(
    page: Page, server: Server, witness: Witness, tmp_path: Path
) -> None:
    for tag in ("en", "de", "ar"):
        await look(page, link(server, "1", "2", "3", lang=tag), tmp_path / f"{tag}.html")
    await page.get_by_role("radio").nth(3).check()
    await page.locator("#text").fill("It boils.")
    await page.locator(".comment-form [type=submit]").click()
    await expect(page.locator("#notice")).to_be_visible()
    await look(page, page.url, tmp_path / "written.html")
    assert invalid_html(tmp_path) == []
