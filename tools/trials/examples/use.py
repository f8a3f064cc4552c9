"""The actions of a visitor in each example, and what the page must show."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

from playwright.async_api import Browser, BrowserContext, Request, Route, expect

from tests.server.serving import jwt_of
from tools.trials.audit.findings import Finding
from tools.trials.examples.running import Api
from tools.trials.examples.shop import PATIENCE, Shop

NOT_SENT = "new:"
"""The prefix of the id of a comment that the page shows before the server has stored it."""


@dataclass
class _Trial:
    """One example in one browser context."""

    context: BrowserContext
    api: Api
    url: str
    found: list[Finding] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def note(self, name: str, *, holds: bool, seen: str = "") -> None:
        self.found.append(Finding(name, holds, seen))

    async def tab(self, username: str | None = None) -> Shop:
        """Open another tab. With a user name, sign in."""
        page = await self.context.new_page()
        page.on("console", lambda said: self._complain(said.type, said.text))
        page.on("pageerror", lambda error: self._complain("error", str(error)))
        shop = Shop(page)
        await shop.open(self.url)
        if username is not None:
            await shop.sign_in(jwt_of(username))
            await page.get_by_text(f"Signed in as {username}").wait_for(timeout=PATIENCE)
            await shop.ready()
        return shop

    def _complain(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.complaints.append(text[:300])


async def findings(browser: Browser, api: Api, url: str) -> list[Finding]:
    """Use the example at ``url``. Return what was found."""
    async with await browser.new_context(viewport={"width": 1200, "height": 860}) as context:
        trial = _Trial(context, api, url)
        for step in (
            _open,
            _first_view,
            _to_the_end_and_back,
            _filter,
            _live,
            _add_and_delete,
            _sentences,
        ):
            try:
                await step(trial)
            except Exception as error:  # noqa: BLE001 - the other steps say more
                complaints = "; ".join(trial.complaints)
                seen = f"{error}"[:300] + f" {complaints}"[:500]
                trial.note(step.__name__.strip("_"), holds=False, seen=" ".join(seen.split()))
                if step is _open:
                    break
        return trial.found


async def _open(trial: _Trial) -> None:
    """At the first request, Vite prepares the dependencies and loads the page again."""
    shop = await trial.tab()
    await shop.page.close()
    trial.complaints.clear()


async def _first_view(trial: _Trial) -> None:
    """Requests of further pages are not counted: they have a cursor in their variables."""
    first: list[str] = []

    def note(request: Request) -> None:
        asked: dict[str, Any] = dict(parse_qsl(urlsplit(request.url).query))  # urql sends a GET
        if request.method == "POST":
            asked = json.loads(request.post_data or "{}")
        variables = asked.get("variables") or {}
        if isinstance(variables, str):
            variables = json.loads(variables)
        further = variables.get("after") or variables.get("cursor")
        if "comments(" in asked.get("query", "") and not further:
            first.append(asked["query"])

    page = await trial.context.new_page()
    page.on("request", note)
    await Shop(page).open(trial.url)
    trial.note("a first view reads the list once", holds=len(first) == 1, seen=f"{len(first)}")
    await page.close()


async def _to_the_end_and_back(trial: _Trial) -> None:
    shop = await trial.tab()
    for order in ("NEWEST", "OLDEST"):
        await shop.order(order)
        wanted = trial.api.listed(orderBy=order)
        await shop.begins(wanted)
        shown = await shop.to_the_end()
        await shop.page.evaluate("scrollTo(0, 0)")
        back = await shop.shown()
        holds = shown == back == wanted
        trial.note(f"to the end and back, {order}", holds=holds, seen=f"{len(shown)} comments")
    await shop.page.close()


async def _filter(trial: _Trial) -> None:
    shop = await trial.tab()
    await shop.toggle("1 ★", "2 ★", "de")
    wanted = trial.api.listed(rating=[1, 2], language=["de"])
    await shop.begins(wanted)
    shown = await shop.to_the_end()
    trial.note("rated 1 or 2, in German", holds=shown == wanted, seen=f"{len(shown)} comments")
    await shop.toggle("1 ★", "2 ★", "de")
    wanted = trial.api.listed()
    await shop.begins(wanted)
    trial.note("all again", holds=(await shop.shown())[:20] == wanted[:20])
    await shop.page.close()


async def _live(trial: _Trial) -> None:
    """A tab adds and deletes comments. Another tab shows those that pass its filters."""
    reader, strict, writer = await trial.tab(), await trial.tab(), await trial.tab("bea")
    await strict.toggle("1 ★")
    await strict.begins(trial.api.listed(rating=[1]))
    before = await reader.total()
    text = f"Seen from afar, {uuid4()}"
    await writer.write(text)
    await reader.sees(text)
    first = await reader.cards.first.text_content()
    trial.note("another tab's comment appears, on top", holds=text in (first or ""))
    await expect(reader.page.locator(".summary")).to_contain_text(
        f"{before + 1:,} comments", timeout=PATIENCE
    )
    trial.note("and is counted", holds=True)
    await writer.delete(text)
    await reader.sees_no(text)
    trial.note("and is gone when it is deleted", holds=True)
    other = f"Not for everybody, {uuid4()}"
    await writer.write(text := f"Poor, {uuid4()}", rating=1)
    await strict.sees(text)
    await writer.write(other, rating=3)
    await reader.sees(other)
    trial.note(
        "a filtered list shows its own",
        holds=await strict.cards.filter(has_text=other).count() == 0,
    )
    for shop in (reader, strict, writer):
        await shop.page.close()


async def _add_and_delete(trial: _Trial) -> None:
    shop = await trial.tab("ana")
    answer = asyncio.Event()

    async def held(route: Route) -> None:
        if "addComment" in (route.request.post_data or ""):
            await answer.wait()
        await route.continue_()

    await shop.page.route(f"{trial.api.url}/**", held)
    await shop.write(text := f"Still warm, {uuid4()}")
    await shop.sees(text)
    ids = await shop.shown()
    trial.note("a comment stands in the list before the answer", holds=ids[0].startswith(NOT_SENT))
    answer.set()
    await expect(shop.cards.first).not_to_have_attribute("data-id", ids[0], timeout=PATIENCE)
    await shop.ready()
    shown = await shop.shown()
    wanted = trial.api.listed()
    trial.note("and is the server's after it", holds=shown == wanted[: len(shown)])
    await shop.delete(text)
    await shop.sees_no(text)
    shown = await shop.shown()
    gone = trial.api.listed()
    holds = shown == gone[: len(shown)] and len(gone) == len(wanted) - 1
    trial.note("and goes when it is deleted", holds=holds)
    trial.note("no complaint of the browser", holds=not trial.complaints, seen=_some(trial))
    await shop.page.close()


async def _sentences(trial: _Trial) -> None:
    """Each error is shown as a sentence, and no comment is added."""
    shop = await trial.tab("ana")
    before = await shop.shown()
    await shop.write("")
    said = await shop.alert()
    trial.note("an empty comment", holds=await shop.shown() == before, seen=said)
    await shop.page.close()
    shop = await trial.tab()
    await shop.write("Nobody wrote this.")
    trial.note("nobody's comment", holds=await shop.shown() == before, seen=await shop.alert())
    await shop.sign_in("nonsense")
    said = await shop.alert()
    trial.note("a JWT that is none", holds="JWT" in said, seen=said)
    await shop.page.get_by_role("button", name="Sign out").click()
    await shop.cards.first.wait_for(timeout=PATIENCE)
    trial.note("and back from it", holds=True)
    await trial.context.route(f"{trial.api.url}/**", lambda route: route.abort())
    await shop.page.reload()
    said = await shop.alert()
    trial.note("no server", holds="No server answers" in said, seen=said)


def _some(trial: _Trial) -> str:
    return "; ".join(trial.complaints[:3])
