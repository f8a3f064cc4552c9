"""A browser tab with an example's page, and the actions of a visitor."""

from collections.abc import Sequence
from dataclasses import dataclass

from playwright.async_api import Locator, Page, expect

PATIENCE = 60_000
"""Milliseconds to wait for the page, which is long because the machine may be busy."""

END = "These were all comments."

_SHOWN = "cards => cards.map(card => card.dataset.id)"


@dataclass(frozen=True, slots=True)
class Shop:
    """One tab."""

    page: Page

    async def open(self, url: str) -> None:
        """Open the page. Wait until it shows comments and its subscription has begun."""
        await self.page.goto(url)
        await self.ready()

    async def ready(self) -> None:
        """Wait until the page shows comments and has no running request."""
        await self.cards.first.wait_for(timeout=PATIENCE)
        await self.page.wait_for_load_state("networkidle")
        await self.page.wait_for_timeout(500)

    @property
    def cards(self) -> Locator:
        """The comments."""
        return self.page.locator("article")

    async def begins(self, ids: Sequence[str]) -> None:
        """Wait until the page's first comments are those of ``ids``."""
        await self.page.wait_for_function(
            "ids => ids.every((id, place) =>"
            " document.querySelectorAll('article')[place]?.dataset.id === id)",
            arg=list(ids[:20]),
            timeout=PATIENCE,
        )

    async def total(self) -> int:
        """Return the number of comments that the page shows for the product."""
        said = await self.page.locator(".summary").text_content() or ""
        return int(said.rpartition("·")[2].split()[0].replace(",", ""))

    async def alert(self) -> str:
        """Wait for an error message and return it."""
        place = self.page.get_by_role("alert").first
        await place.wait_for(timeout=PATIENCE)
        return await place.text_content() or ""

    async def delete(self, text: str) -> None:
        """Delete one of the visitor's comments."""
        card = self.cards.filter(has_text=text)
        await card.get_by_role("button", name="Delete").click(timeout=PATIENCE)

    async def shown(self) -> list[str]:
        """Return the ids of the shown comments, from top to bottom."""
        ids: list[str] = await self.cards.evaluate_all(_SHOWN)
        return ids

    async def to_the_end(self) -> list[str]:
        """Scroll until all comments are shown. Return their ids."""
        end = self.page.locator(".end")
        while await end.text_content() != END:
            count = await self.cards.count()
            await end.scroll_into_view_if_needed()
            await self.page.wait_for_function(
                "([count, end]) => document.querySelectorAll('article').length > count"
                " || document.querySelector('.end').textContent === end",
                arg=[count, END],
                timeout=PATIENCE,
            )
        return await self.shown()

    async def sign_in(self, jwt: str) -> None:
        """Sign in with a JWT."""
        await self.page.get_by_label("JWT").fill(jwt)
        await self.page.get_by_role("button", name="Sign in").click()

    async def toggle(self, *names: str) -> None:
        """Press buttons of the filters."""
        for name in names:
            await self.page.locator(".filters button", has_text=name).first.click()

    async def order(self, name: str) -> None:
        """Select an order of the list."""
        await self.page.get_by_label("Order", exact=True).last.select_option(name)

    async def write(self, text: str, *, rating: int = 5) -> None:
        """Fill in and send the form of a comment."""
        form = self.page.locator(".write")
        if await form.get_attribute("open") is None:
            await form.locator("summary").click()
        await form.get_by_label("Rating").select_option(str(rating))
        await form.get_by_label("Text").fill(text)
        await form.get_by_role("button", name="Send").click()

    async def sees(self, text: str) -> None:
        """Wait until a comment with this text is shown."""
        await expect(self.cards.filter(has_text=text)).to_have_count(1, timeout=PATIENCE)

    async def sees_no(self, text: str) -> None:
        """Wait until no comment with this text is shown."""
        await expect(self.cards.filter(has_text=text)).to_have_count(0, timeout=PATIENCE)
