"""A browser tab with an example's page, as a visitor reads and uses it."""

from collections.abc import Sequence
from dataclasses import dataclass

from playwright.async_api import Locator, Page, expect

PATIENCE = 60_000
"""Milliseconds to wait for a page, because the machine may be busy."""

END = "These were all comments."

_SHOWN = "cards => cards.map(card => card.dataset.id)"


@dataclass(frozen=True, slots=True)
class Shop:
    """One tab."""

    page: Page

    async def open(self, url: str) -> None:
        """Open the page. Wait until it shows comments and has subscribed to new ones."""
        await self.page.goto(url)
        await self.ready()

    async def ready(self) -> None:
        """Wait until comments are shown, and no request runs."""
        await self.cards.first.wait_for(timeout=PATIENCE)
        await self.page.wait_for_load_state("networkidle")
        await self.page.wait_for_timeout(500)

    @property
    def cards(self) -> Locator:
        """The comments."""
        return self.page.locator("article")

    async def begins(self, ids: Sequence[str]) -> None:
        """Wait until the first comments of a list are shown."""
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
        """Wait for an error message."""
        place = self.page.get_by_role("alert").first
        await place.wait_for(timeout=PATIENCE)
        return await place.text_content() or ""

    async def delete(self, text: str) -> None:
        """Delete one of the visitor's own comments."""
        card = self.cards.filter(has_text=text)
        await card.get_by_role("button", name="Delete").click(timeout=PATIENCE)

    async def shown(self) -> list[str]:
        """Return the ids of the comments, from top to bottom."""
        ids: list[str] = await self.cards.evaluate_all(_SHOWN)
        return ids

    async def to_the_end(self) -> list[str]:
        """Scroll until there are no more comments; return the ids of all."""
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
        """Paste a JWT."""
        await self.page.get_by_label("JWT").fill(jwt)
        await self.page.get_by_role("button", name="Sign in").click()

    async def toggle(self, *names: str) -> None:
        """Press the buttons of a filter."""
        for name in names:
            await self.page.locator(".filters button", has_text=name).first.click()

    async def order(self, name: str) -> None:
        """Select the order of the list."""
        await self.page.get_by_label("Order", exact=True).last.select_option(name)

    async def write(self, text: str, *, rating: int = 5) -> None:
        """Fill in the form and send it."""
        form = self.page.locator(".write")
        if await form.get_attribute("open") is None:
            await form.locator("summary").click()
        await form.get_by_label("Rating").select_option(str(rating))
        await form.get_by_label("Text").fill(text)
        await form.get_by_role("button", name="Send").click()

    async def sees(self, text: str) -> None:
        """Wait for a comment."""
        await expect(self.cards.filter(has_text=text)).to_have_count(1, timeout=PATIENCE)

    async def sees_no(self, text: str) -> None:
        """Wait until a comment is gone."""
        await expect(self.cards.filter(has_text=text)).to_have_count(0, timeout=PATIENCE)
