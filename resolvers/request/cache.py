"""What has been read for one request, so that no field asks twice."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from dal.query.pagination import Page, Slice

Answer = TypeVar("Answer")


class RequestCache:
    """Reads that are done once, however many fields await them."""

    def __init__(self) -> None:
        self._asked: dict[tuple[object, ...], asyncio.Task[Any]] = {}
        self._waiting: Counter[asyncio.Task[Any]] = Counter()

    async def read(self, store: Callable[..., Coroutine[Any, Any, Answer]], *of: str) -> Answer:
        """Return what ``store(*of)`` answered the first time."""
        key = (store, *of)
        if key not in self._asked:
            self._asked[key] = asyncio.create_task(store(*of))
        task = self._asked[key]
        self._waiting[task] += 1
        try:
            answer: Answer = await asyncio.shield(task)
        finally:
            self._waiting[task] -= 1
            if self._waiting[task] == 0 and not task.done():  # everybody left
                task.cancel()
                if self._asked.get(key) is task:
                    del self._asked[key]
        return answer

    def forget(self) -> None:
        """Drop cached reads: the request has written."""
        self._asked.clear()


class PrefetchedPages:
    """Pages that a resolver read with its own object, for a field below it to show once."""

    def __init__(self) -> None:
        self._pages: dict[tuple[int, Slice], tuple[object, Page[Any]]] = {}

    def keep(self, owner: object, cut: Slice, page: Page[Any]) -> None:
        """Keep a page of ``owner`` for the field that will request it.

        It belongs to just this object: two fields that read one organisation have equal ones, and
        each its own page. The owner is kept too, so that no other object takes its identity.
        """
        self._pages[id(owner), cut] = owner, page

    def take(self, owner: object, cut: Slice) -> Page[Any] | None:
        """Return the page of exactly this slice; None when it was not read."""
        _, page = self._pages.pop((id(owner), cut), (None, None))
        return page
