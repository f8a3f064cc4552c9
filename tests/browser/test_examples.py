"""The example front ends while their API fails.

A request that fails leaves the comments on the page. The page sends the request again only when the
user presses "Try again".
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Route, expect
from playwright.async_api import Page as Tab

from server.local_engine.engine_process import free_port
from tests.browser.conftest import NEEDS_CHROMIUM, Server
from tests.engines import ROOT
from tests.server.serving import environment

pytestmark = NEEDS_CHROMIUM

EXAMPLES = ROOT / "examples"

SITE = "http://localhost:9"
"""An origin that the demo allows, like all origins of this machine. A route serves its pages."""

FAULT = {"message": "The test fails this request.", "extensions": {"code": "UNAVAILABLE"}}

PLAIN = {"Access-Control-Allow-Origin": "*"}


async def no_connection(route: Route) -> None:
    await route.abort()


async def busy(route: Route) -> None:
    """Answer like a proxy in front of a server that is down."""
    text = "<h1>503 Service Unavailable</h1>"
    await route.fulfill(status=503, content_type="text/html", headers=PLAIN, body=text)


async def no_data(route: Route) -> None:
    await route.fulfill(headers=PLAIN, json={"data": None, "errors": [FAULT]})


async def no_comments(route: Route) -> None:
    """Answer like the API if only the list fails."""
    answer = await route.fetch()
    body = await answer.json()
    name = "product" if "product" in body["data"] else "node"
    body["data"][name]["comments"] = None
    body["errors"] = [FAULT | {"path": [name, "comments"]}]
    await route.fulfill(response=answer, json=body)


Failure = Callable[[Route], Awaitable[None]]

FAILURES = [no_connection, busy, no_data, no_comments]


@dataclass
class Api:
    """The requests to the API since it began to fail."""

    failure: Failure | None = None
    asked: list[str] = field(default_factory=list)
    failed: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, route: Route) -> None:
        self.asked.append(route.request.post_data or route.request.url)
        if self.failure is None:
            await route.continue_()
            return
        await self.failure(route)
        self.failed.set()

    def fail(self, failure: Failure) -> None:
        self.failure = failure
        self.asked.clear()
        self.failed.clear()


@pytest.fixture(scope="module", params=["storefront", "apollo", "urql"])
def built(
    request: pytest.FixtureRequest, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The files of an example that uses the server."""
    directory = tmp_path_factory.mktemp(request.param)
    workspace = ["--workspace", f"example-{request.param}"]
    for command in (["codegen"], ["build", "--", "--outDir", str(directory)]):
        done = node("npm", "run", *workspace, *command, api=f"{server.url}/graphql")
        assert done.returncode == 0, done.stdout + done.stderr
    return directory


def node(*command: str, api: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Node.js, which may be in Python's environment, for an API's address."""
    assert (EXAMPLES / "node_modules/installed").exists(), "run `make setup-dev` first"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        command,
        cwd=EXAMPLES,
        env=environment(VITE_API=api, PATH=path),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_start_without_an_api_names_the_address_in_one_line(server: Server) -> None:
    with_api = f"{server.url}/graphql"
    without = f"http://127.0.0.1:{free_port()}/graphql"
    assert node("node", "api-check.mjs", api=with_api).stdout == ""
    (line,) = node("node", "api-check.mjs", api=without).stdout.splitlines()
    assert without in line
    assert "make run" in line


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
async def tab(chromium: Browser, server: Server, built: Path, api: Api) -> AsyncIterator[Tab]:
    """A tab that can open the example at ``SITE``."""

    async def serve(route: Route) -> None:
        path = route.request.url.removeprefix(SITE).partition("?")[0].lstrip("/")
        if path == "here":
            await route.fulfill(body="")
        else:
            await route.fulfill(path=built / (path or "index.html"))

    async with await chromium.new_context(viewport={"width": 1280, "height": 800}) as context:
        context.set_default_timeout(60_000)
        # Otherwise Chromium asks before a page of another site may reach this machine.
        await context.grant_permissions(["local-network-access"])
        await context.route(f"{SITE}/**", serve)
        await context.route(f"{server.url}/graphql**", api.answer)
        yield await context.new_page()


_SCROLL = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  for (let round = 0; round < 4; round += 1) {
    for (const block of ["end", "start", "center"]) {
      document.querySelector(".comments, main")?.scrollIntoView({ block });
      dispatchEvent(new Event("scroll"));
      await frame();
      await frame();
    }
    await fetch("/here");
  }
}"""
"""Scrolls to both ends of the list. After each round, a request passes through this process, so
that the earlier requests of the page have been counted."""


async def shown(tab: Tab) -> list[str]:
    """Return the ids of the comments on the page."""
    ids: list[str] = await tab.locator("article").evaluate_all(
        "cards => cards.map(card => card.dataset.id)"
    )
    return ids


async def listed(server: Server, count: int, rating: list[int] | None = None) -> list[str]:
    """Return the ids of the newest comments on product 1."""
    query = """query ($count: Int!, $rating: [Int!]) {
      product(productId: "1") { comments(first: $count, rating: $rating) { nodes { id } } }
    }"""
    body = {"query": query, "variables": {"count": count, "rating": rating}}
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        answer = (await client.post("/graphql", json=body)).json()
    return [node["id"] for node in answer["data"]["product"]["comments"]["nodes"]]


async def open_page(tab: Tab) -> list[str]:
    """Open the example. Return the ids of the first page's comments."""
    await tab.goto(SITE)
    await expect(tab.locator("article")).to_have_count(20)
    return await shown(tab)


async def fails_once_for_each_press(tab: Tab, api: Api, rows: list[str]) -> None:
    """Check a page after its request has failed. Then let the API answer, and press the button."""
    again = tab.get_by_role("alert").get_by_role("button", name="Try again")
    for presses in range(2):
        await api.failed.wait()
        await tab.evaluate(_SCROLL)
        assert len(api.asked) == 1 + presses
        assert await shown(tab) == rows
        await expect(again).to_have_count(1)
        await expect(tab.locator(".end:not(:empty)")).to_have_count(0)
        api.failed.clear()
        if presses:
            api.failure = None
        await again.click()
    await expect(again).to_have_count(0)


@pytest.mark.parametrize("failure", FAILURES)
async def test_before_the_first_page(tab: Tab, api: Api, server: Server, failure: Failure) -> None:
    api.fail(failure)
    await tab.goto(SITE)
    await fails_once_for_each_press(tab, api, rows=[])
    await expect(tab.locator("article")).to_have_count(20)
    assert await shown(tab) == await listed(server, 20)
    assert len(api.asked) == 3


@pytest.mark.parametrize("failure", FAILURES)
async def test_during_a_scroll(tab: Tab, api: Api, server: Server, failure: Failure) -> None:
    rows = await open_page(tab)
    api.fail(failure)
    await tab.locator(".end").scroll_into_view_if_needed()
    await fails_once_for_each_press(tab, api, rows)
    await expect(tab.locator("article")).to_have_count(70)
    assert await shown(tab) == await listed(server, 70)
    assert len(api.asked) == 3


@pytest.mark.parametrize("failure", FAILURES)
async def test_after_a_choice_of_a_rating(
    tab: Tab, api: Api, server: Server, failure: Failure
) -> None:
    rows = await open_page(tab)
    api.fail(failure)
    await tab.get_by_role("button", name="1 ★").click()
    await fails_once_for_each_press(tab, api, rows)
    critical = await listed(server, 20, rating=[1])
    await expect(tab.locator("article").first).to_have_attribute("data-id", critical[0])
    assert (await shown(tab))[:20] == critical


async def test_an_error_of_a_list_leaves_with_the_list(tab: Tab, api: Api, server: Server) -> None:
    await open_page(tab)
    api.fail(no_connection)
    await tab.locator(".end").scroll_into_view_if_needed()
    await expect(tab.get_by_role("alert")).to_have_count(1)
    api.failure = None
    await tab.get_by_role("button", name="1 ★").click()
    critical = await listed(server, 20, rating=[1])
    await expect(tab.locator("article").first).to_have_attribute("data-id", critical[0])
    await expect(tab.get_by_role("alert")).to_have_count(0)


async def test_a_comment_that_cannot_be_sent_stays_in_the_form(
    tab: Tab, api: Api, adas_jwt: str
) -> None:
    await open_page(tab)
    await tab.get_by_label("JWT").fill(adas_jwt)
    await tab.get_by_role("button", name="Sign in").click()
    await expect(tab.get_by_text("Signed in as ada")).to_be_visible()
    await expect(tab.locator("article")).to_have_count(20)
    rows = await shown(tab)
    await tab.get_by_text("Write a comment").click()
    await tab.get_by_label("Text").fill("Kept until it is stored.")
    api.fail(no_connection)
    for presses in (1, 2):
        await tab.get_by_role("button", name="Send").click()
        await api.failed.wait()
        await expect(tab.locator(".write").get_by_role("alert")).to_have_count(1)
        await expect(tab.get_by_role("button", name="Send")).to_be_enabled()
        api.failed.clear()
        await tab.evaluate(_SCROLL)
        assert len([one for one in api.asked if "mutation" in one]) == presses
    assert len(api.asked) == 3  # the scroll has requested one page of the list
    assert await shown(tab) == rows
    await expect(tab.get_by_label("Text")).to_have_value("Kept until it is stored.")


_COUNT_CONNECTIONS = """
  window.attempts = [];
  Math.random = () => 0.5;
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      window.attempts.push(Date.now());
      super(...given);
    }
  };
"""


async def test_lost_connections_are_tried_again_after_growing_pauses_and_at_last_by_the_user(
    tab: Tab, server: Server
) -> None:
    """The browser's clock is advanced by the test."""
    await tab.clock.install()
    address = f"{server.url}/graphql".replace("http", "ws")
    await tab.route_web_socket(address, lambda socket: socket.close(code=1012))
    await tab.add_init_script(_COUNT_CONNECTIONS)  # after Playwright has replaced WebSocket
    await open_page(tab)
    await tab.wait_for_function("attempts.length > 0")
    await tab.clock.pause_at(await tab.evaluate("Date.now() / 1000 + 0.1"))
    while await tab.evaluate("attempts.length") < 7:
        await tab.clock.run_for(250)
    times = await tab.evaluate("attempts")
    pauses = [after - before for before, after in pairwise(times)]
    assert all(after > before for before, after in pairwise(pauses))
    assert pauses[-1] > 10 * pauses[0]
    await tab.clock.run_for(24 * 3_600_000)
    assert await tab.evaluate("attempts.length") == 7
    await tab.get_by_role("heading", level=1).click()
    await tab.wait_for_function("attempts.length === 8")
