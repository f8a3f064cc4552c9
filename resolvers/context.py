"""The context of one request: its user, the stores, and its cached reads."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from strawberry.dataloader import DataLoader

from dal.analytics.service import Analytics
from dal.errors import DalError
from dal.live.log import Broker
from dal.model import Comment, ProductDetails
from dal.model.moderation import Moderation
from dal.query.pagination import Page, Slice
from dal.statistics.counts import CommentStatistics
from dal.stores import Stores

Read = TypeVar("Read")

Row = TypeVar("Row")

NO_DETAILS = ProductDetails()

LARGE = 300
"""Values of a list completed in one turn of the event loop: a few milliseconds."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """The user and roles of a verified JWT."""

    user_id: str
    """The issuer's id of the user, which owns comments, orders and tickets."""
    roles: frozenset[str] = frozenset()
    name: str = ""
    """The name that comments show; ``user_id`` if none is given."""
    expires: float | None = field(default=None, compare=False)
    """Expiry of the JWT, in seconds of Unix time."""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.user_id)


class RequestCache:
    """Reads that are done once in a request, however many fields await them."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[object, ...], asyncio.Task[Any]] = {}
        self._waiting: Counter[asyncio.Task[Any]] = Counter()

    async def read(self, store: Callable[..., Coroutine[Any, Any, Read]], *of: str) -> Read:
        """Return the result of ``store(*of)``, which is called once in a request."""
        key = (store, *of)
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(store(*of))
        task = self._tasks[key]
        self._waiting[task] += 1
        try:
            result: Read = await asyncio.shield(task)
        finally:
            self._waiting[task] -= 1
            if self._waiting[task] == 0 and not task.done():  # every field was cancelled
                task.cancel()
                if self._tasks.get(key) is task:
                    del self._tasks[key]
        return result

    def known(self, store: Callable[..., Coroutine[Any, Any, Read]], *of: str) -> bool:
        """Return whether ``store(*of)`` was called in this request."""
        return (store, *of) in self._tasks

    def forget(self) -> None:
        """Drop cached reads after a write."""
        self._tasks.clear()


class PrefetchedPages:
    """Pages that a resolver read with its own object, for a field below that object."""

    def __init__(self) -> None:
        self._pages: dict[tuple[int, Slice], tuple[object, Page[Any]]] = {}

    def keep(self, owner: object, cut: Slice, page: Page[Any]) -> None:
        """Keep a page of ``owner`` for the field that will request it.

        The key is the owner's identity: two fields that read one organisation have equal owners
        and a page each. Keeping the owner, too, prevents another object from getting its identity.
        """
        self._pages[id(owner), cut] = owner, page

    def take(self, owner: object, cut: Slice) -> Page[Any] | None:
        """Return and remove the page of exactly this slice; None if it was not read."""
        _, page = self._pages.pop((id(owner), cut), (None, None))
        return page


class Pace:
    """Lets other requests run between the lists of a large result and between rows of large lists.

    Completing a row is quick, but a thousand rows in one turn of the event loop would delay every
    other request. Turns take time too, so they are off until ``slow_down``.
    """

    def __init__(self) -> None:
        self._turn: asyncio.Lock | None = None

    @property
    def slow(self) -> bool:
        """Whether lists pass through ``rows``."""
        return self._turn is not None

    def slow_down(self) -> None:
        """Take turns from now on."""
        self._turn = asyncio.Lock()

    def rows(
        self, rows: Sequence[Row], weight: int
    ) -> Sequence[Awaitable[Row]] | Awaitable[Sequence[Row]]:
        """Return awaitable rows: of a large list each in its own turn, else all in one turn.

        ``weight`` is the number of values in a row.
        """
        if len(rows) * weight > LARGE:
            return [self._wait(row) for row in rows]
        return self._wait(rows)

    async def _wait(self, awaited: Row) -> Row:
        assert self._turn is not None  # noqa: S101 - it is slow
        async with self._turn:
            await asyncio.sleep(0)
        return awaited


class ProductReads:
    """Reads products' statistics, and their details: by the same Query, or 100 in one request."""

    def __init__(self, stores: Stores, cache: RequestCache) -> None:
        self._stores = stores
        self._cache = cache
        self._both = stores.comments.statistics_and_details
        self._details: DataLoader[str, ProductDetails] = DataLoader(self._load, cache=False)

    async def statistics(self, product_id: str) -> CommentStatistics:
        """Return a product's statistics, which include every acknowledged write."""
        return (await self._cache.read(self._both, product_id))[0]

    async def details(self, product_id: str) -> ProductDetails:
        """Return a product's details; empty if the shop has set none."""
        return await self._details.load(product_id)

    async def _load(self, product_ids: Sequence[str]) -> list[ProductDetails]:
        """Return the details of the products requested in one turn of the event loop.

        The Query for a product's statistics reads the details too. If a field made that Query,
        this method awaits it, and reads the details alone only if it fails.
        """
        found = {}
        for product_id in {*product_ids}:
            if self._cache.known(self._both, product_id):
                with suppress(DalError):
                    found[product_id] = (await self._cache.read(self._both, product_id))[1]
        if missing := {*product_ids} - found.keys():
            found |= await self._stores.products.details(missing)
        return [found.get(product_id, NO_DETAILS) for product_id in product_ids]


@dataclass(frozen=True, slots=True)
class Context:
    """The context value of one GraphQL request; ``viewer`` is None without a JWT."""

    viewer: Viewer | None
    stores: Stores
    explain: bool = False
    site: str | None = None
    """The pages' absolute address, without a slash at its end; None if it is not known."""
    known_products_only: bool = False
    """Whether comments on products without stored details are refused."""
    buyers_only: bool = False
    """Whether comments of users who have not received the product are refused."""
    allow_empty_text: bool = False
    """Whether a comment may have an empty text."""
    moderation: Moderation = field(default_factory=Moderation)
    """Which comments wait for a moderator."""
    cache: RequestCache = field(default_factory=RequestCache)
    prefetched: PrefetchedPages = field(default_factory=PrefetchedPages)
    pace: Pace = field(default_factory=Pace)
    broker: Broker | None = None
    """The events of comments; None if this server offers no subscriptions."""
    analytics: Analytics = field(default_factory=Analytics)
    last_event_id: str | None = None
    """The last event's cursor, which a browser sends when it reopens an event stream:
    https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header"""
    comments: DataLoader[str, Comment | None] = field(init=False)
    """Looks up comments, those of one turn of the event loop in one request to DynamoDB."""
    products: ProductReads = field(init=False)

    def __post_init__(self) -> None:
        loader = DataLoader(self._comments, cache=False)
        object.__setattr__(self, "comments", loader)
        object.__setattr__(self, "products", ProductReads(self.stores, self.cache))

    async def _comments(self, comment_ids: Sequence[str]) -> list[Comment | None]:
        store = self.stores.comments
        if len(comment_ids) == 1:
            return [await store.get(comment_ids[0])]
        found = await store.get_many(comment_ids)
        return [found.get(comment_id) for comment_id in comment_ids]
