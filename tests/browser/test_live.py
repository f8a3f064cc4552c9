"""A product's page in two tabs: a comment that is added in one tab appears in the other."""

import asyncio

import httpx
from playwright.async_api import Browser, Page, Route, expect
from strawberry.relay.utils import to_base64

from tests.browser.conftest import NEEDS_CHROMIUM, Server, Witness, token_of
from tests.server.serving import ADD

pytestmark = NEEDS_CHROMIUM


async def send(server: Server, jwt: str, query: str, **variables: object) -> None:
    """Send a mutation to the API, as another tab does."""
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        body = {"query": query, "variables": variables}
        headers = {"Authorization": f"Bearer {jwt}"}
        assert (await client.post("/graphql", json=body, headers=headers)).is_success


async def add(
    server: Server, jwt: str, rating: int, product_id: str = "live", language: str = "en"
) -> None:
    """Store a comment."""
    said = {"productId": product_id, "rating": rating, "language": language, "text": "So it is."}
    await send(server, jwt, ADD, input=said)


async def test_new_comments_are_counted_and_a_click_shows_them(
    chromium: Browser, server: Server, witness: Witness, adas_jwt: str
) -> None:
    async with await chromium.new_context() as context:
        await witness.watch(context)
        page, filtered = await context.new_page(), await context.new_page()
        for tab, query in ((page, ""), (filtered, "?rating=1")):
            async with tab.expect_response(lambda answer: "/graphql?" in answer.url):
                await tab.goto(f"{server.url}/products/live{query}")
        await asyncio.sleep(0.5)
        news = page.locator("#news a")
        await expect(news).to_be_hidden()
        for rating in (5, 4, 1):
            await add(server, adas_jwt, rating)
        await expect(news).to_have_text("3 new comments")
        await expect(filtered.locator("#news a")).to_have_text("1 new comment")
        await news.click()
        await expect(page.locator("article.comment")).to_have_count(3)
        await expect(news).to_be_hidden()
        await add(server, adas_jwt, 2)
        await expect(news).to_have_text("1 new comment")


REPLY = "mutation ($id: ID!, $text: String!) { %s { userErrors { message } } }"


async def test_a_reply_appears_changes_and_disappears_on_an_open_page(
    chromium: Browser, server: Server, witness: Witness, adas_jwt: str
) -> None:
    await add(server, adas_jwt, 5, "answered")
    async with await chromium.new_context() as context:
        await witness.watch(context)
        page = await context.new_page()
        async with page.expect_response(lambda answer: "/graphql?" in answer.url):
            await page.goto(f"{server.url}/products/answered?lang=ar")
        comment = page.locator("article.comment")
        node_id = to_base64("Comment", str(await comment.get_attribute("data-comment")))
        jwt = token_of(server, "mia", "merchant")
        set_reply = "replyToComment(input: {id: $id, text: $text})"
        for text in ("Thank you.", "<b>Thanks.</b>"):
            await send(server, jwt, REPLY % set_reply, id=node_id, text=text)
            await expect(comment.locator(".reply .text")).to_have_text(text)
        live = await comment.locator(".reply").inner_html()
        await page.reload()
        assert await comment.locator(".reply").inner_html() == live, "as the server writes it"
        async with page.expect_response(lambda answer: "/graphql?" in answer.url):
            await page.reload()
        remove = "mutation ($id: ID!) { removeReply(input: {id: $id}) { userErrors { message } } }"
        await send(server, jwt, remove, id=node_id)
        await expect(comment.locator(".reply")).to_have_count(0)


async def test_a_page_connects_again_with_pauses_and_then_says_that_its_list_is_old(
    page: Page, server: Server, witness: Witness
) -> None:
    async def fails(route: Route) -> None:
        await route.fulfill(status=503, body="The test fails this request.")

    await page.clock.install()
    await page.route("**/graphql?*", fails)
    await page.goto(f"{server.url}/products/live")
    news = page.locator("#news a")
    await expect(news).to_be_hidden()
    for _ in range(40):
        await page.clock.run_for(2_500)
        await page.wait_for_timeout(50)
    old = await page.locator("#news").get_attribute("data-some")
    await expect(news).to_have_text(str(old))
    assert sum("/graphql?" in one for one in witness.requests) == 7
    witness.complaints.clear()  # Chromium reports the failed requests
