"""Takes the pictures of docs: ``python -m tests.browser.pictures``.

They show the demo's kettle without its Japanese comments, because a machine with few fonts cannot
draw these.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Browser, async_playwright

from dal.model import Comment
from features.demo.demo_data import demo_comments
from tests.browser.conftest import CHROMIUM
from tests.engines import ROOT
from tests.server.serving import marginalia, served

PICTURES = ROOT / "docs/pictures"
PRODUCT = "kettle-1700"
DETAILS = {
    "id": PRODUCT,
    "title": "Copper kettle, 1.7 l",
    "picture_url": "/static/pages/products.svg#kettle",
}
ADDRESS = f"/products/{PRODUCT}?rating=1&rating=4&rating=5&language=ar&language=en"


_TO_THE_END = "pane => pane.CodeMirror.scrollTo(0, pane.CodeMirror.getScrollInfo().height)"


def main() -> None:
    """Run a server with the kettle, and take the pictures."""
    with kettle() as url:
        asyncio.run(_take(url))


@contextmanager
def kettle(*options: str) -> Iterator[str]:
    """Run a server with the kettle's comments. Yield its address."""
    with TemporaryDirectory() as directory:
        data = Path(directory)
        lines = [json.dumps(_row(one)) for one in demo_comments() if _shown(one)]
        (data / "kettle.jsonl").write_text("\n".join(lines), "utf-8")
        (data / "product.jsonl").write_text(json.dumps(DETAILS), "utf-8")
        for file, *kind in (("kettle.jsonl",), ("product.jsonl", "--kind", "products")):
            loaded = marginalia("load", data / file, *kind, "--data-dir", data / "data")
            assert loaded.returncode == 0, loaded.stderr
        with served(data / "data", "--explain", *options) as server:
            yield server.url


def _shown(comment: Comment) -> bool:
    return comment.product_id == "1" and comment.language != "ja"


def _row(comment: Comment) -> dict[str, object]:
    return {
        "id": comment.comment_id,
        "product_id": PRODUCT,
        "username": comment.username,
        "rating": comment.rating,
        "language": comment.language,
        "title": comment.title,
        "text": comment.text,
        "created_at": comment.created_at.isoformat(),
        "verified_purchase": comment.verified_purchase,
    }


async def _take(url: str) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        await _plan(browser, url)
        await _graphiql(browser, url)
        await browser.close()


async def _plan(browser: Browser, url: str) -> None:
    page = await browser.new_page(viewport={"width": 1280, "height": 860})
    await page.goto(url + ADDRESS)
    await page.locator("#plan > summary").click()
    await page.screenshot(path=PICTURES / "plan.png")


async def _graphiql(browser: Browser, url: str) -> None:
    """Take a picture of the finished drawing, which stands still with reduced motion."""
    page = await browser.new_page(viewport={"width": 1200, "height": 860}, reduced_motion="reduce")
    await page.goto(url + ADDRESS)
    await page.get_by_role("link", name="Older").click()
    await page.get_by_text("Older comments").wait_for()
    await page.locator("#plan > summary").click()
    await page.get_by_role("link", name="Open this query in GraphiQL").click()
    await page.get_by_text('"commentId"').first.wait_for()
    await page.locator(".lanes").wait_for()
    await page.locator(".graphiql-query-editor .CodeMirror").evaluate(_TO_THE_END)
    await page.wait_for_timeout(1_000)  # CodeMirror highlights the text in the background
    await page.screenshot(path=PICTURES / "graphiql.png")


if __name__ == "__main__":
    main()
