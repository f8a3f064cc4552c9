"""The product's page in two tabs: a comment that one tab adds appears in the other."""

import asyncio

import httpx
import pytest
from playwright.async_api import Browser, expect

from tests.browser.conftest import CHROMIUM, Server, Witness
from tests.server.serving import ADD

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM.exists(),
        reason=f"{CHROMIUM} is missing: on Debian, 'apt-get install chromium' puts it there",
    ),
]


async def add(server: Server, jwt: str, rating: int) -> None:
    """Store a comment as another tab does."""
    said = {"productId": "live", "rating": rating, "language": "en", "text": "So it is."}
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        body = {"query": ADD, "variables": {"input": said}}
        headers = {"Authorization": f"Bearer {jwt}"}
        assert (await client.post("/graphql", json=body, headers=headers)).is_success


async def test_new_comments_are_counted_and_one_click_away(
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
