"""The context of one request: the user, the settings, the stores, and the cached reads."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from strawberry.dataloader import DataLoader

from dal.analytics.service import Analytics
from dal.counts.counts import CommentStatistics
from dal.dynamodb.account import MAX_REQUESTS
from dal.live.log import Broker
from dal.model import Comment, ProductDetails, ProductGroup
from dal.model.moderation import Moderation
from dal.query.errors import TooManySegmentsError
from dal.query.pagination import Page, Slice
from dal.repositories.photo_uploads import PhotoUploads
from dal.stores import Stores
from dal.table.errors import DalError
from resolvers.publication import Publication

Read = TypeVar("Read")

Text = TypeVar("Text", str, str | None)

NO_DETAILS = ProductDetails()


@dataclass(frozen=True, slots=True)
class Viewer:
    """The user and roles of a verified JWT."""

    user_id: str
    """The user's id in the JWT (``sub``). Comments, orders and tickets belong to this id."""
    roles: frozenset[str] = frozenset()
    name: str = ""
    """The display name that is stored with the user's comments and tickets. ``user_id`` if the JWT
    has no name."""
    expires: float | None = field(default=None, compare=False)
    """The time at which the JWT expires, in Unix seconds; None if the JWT does not expire."""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.user_id)


class RequestCache:
    """Executes a read once per request, even if several fields need the result."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[object, ...], asyncio.Task[Any]] = {}
        self._waiting: Counter[asyncio.Task[Any]] = Counter()

    async def read(self, store: Callable[..., Coroutine[Any, Any, Read]], *of: str) -> Read:
        """Return the result of ``store(*of)``.

        Later calls with the same arguments return the same result, until ``forget`` is called.
        """
        key = (store, *of)
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(store(*of))
        task = self._tasks[key]
        self._waiting[task] += 1
        try:
            result: Read = await asyncio.shield(task)
        finally:
            self._waiting[task] -= 1
            # If every field that waited for this read was cancelled, cancel the read too.
            if self._waiting[task] == 0 and not task.done():
                task.cancel()
                if self._tasks.get(key) is task:
                    del self._tasks[key]
        return result

    def known(self, store: Callable[..., Coroutine[Any, Any, Read]], *of: str) -> bool:
        """Return whether ``read(store, *of)`` was called since the last ``forget``."""
        return (store, *of) in self._tasks

    def forget(self) -> None:
        """Forget the results of all reads, because a write may have made them out of date."""
        self._tasks.clear()


class PrefetchedPages:
    """Pages of an object's lists that a resolver has read in the same Query as the object.

    For example, one Query reads an organisation and its first users. The resolver of the field
    ``users`` then takes the page of users and reads nothing.
    """

    def __init__(self) -> None:
        self._pages: dict[tuple[int, Slice], tuple[object, Page[Any]]] = {}

    def keep(self, owner: object, cut: Slice, page: Page[Any]) -> None:
        """Keep a page of ``owner`` for the field that will request the page.

        The key contains ``id(owner)`` and not ``owner``. If two fields of a request read the same
        organisation and slice, their objects are equal, and the second page would replace the
        first. The owner is kept too, because Python reuses the ``id`` of a deleted object.
        """
        self._pages[id(owner), cut] = owner, page

    def take(self, owner: object, cut: Slice) -> Page[Any] | None:
        """Remove and return the page of ``owner`` with this slice; None if no such page is kept."""
        _, page = self._pages.pop((id(owner), cut), (None, None))
        return page


class Built:
    """Texts that are built from an object once per request, even if several fields return them."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[object, Any]] = {}

    def once(self, source: object, build: Callable[[], Text]) -> Text:
        """Return the text that ``build`` built from ``source``; call it only the first time.

        ``source`` is kept, too, because Python reuses the ``id`` of a deleted object.
        """
        if id(source) not in self._texts:
            self._texts[id(source)] = source, build()
        text: Text = self._texts[id(source)][1]
        return text


class Pace:
    """Gives turns of the event loop to all large results of a process, one after another.

    Completing a thousand rows in one turn of the event loop would delay all other requests.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def turn(self) -> None:
        """Wait until the event loop has run other tasks, and earlier waiters had their turns."""
        async with self._turn:
            await asyncio.sleep(0)


class ProductReads:
    """Reads statistics and details of products.

    One Query reads a product's statistics and its details. If only details are needed, one request
    reads the details of up to 100 products.
    """

    def __init__(self, stores: Stores, cache: RequestCache) -> None:
        self._stores = stores
        self._cache = cache
        self._details: DataLoader[str, ProductDetails] = DataLoader(self._load, cache=False)

    async def statistics(self, product_id: str) -> CommentStatistics | None:
        """Return a product's statistics; None until the server has counted the comments."""
        statistics, _ = await self._both(product_id)
        return statistics if await self._stores.comments.counted() else None

    async def details(self, product_id: str) -> ProductDetails:
        """Return a product's details. They are empty if the shop has not set any."""
        return await self._details.load(product_id)

    async def _load(self, product_ids: Sequence[str]) -> list[ProductDetails]:
        """Return the details of the products that were requested in one turn of the event loop.

        If a field of the client's request has started a Query for a product's statistics, this
        Query also reads the details, and this method awaits it. If the Query fails, this method
        reads the details itself.
        """
        found = {}
        for product_id in {*product_ids}:
            if self._cache.known(self._stores.comments.statistics_and_details, product_id):
                with suppress(DalError):
                    _, found[product_id] = await self._both(product_id)
        if missing := {*product_ids} - found.keys():
            found |= await self._stores.products.details(missing)
        return [found.get(product_id, NO_DETAILS) for product_id in product_ids]

    async def _both(self, product_id: str) -> tuple[CommentStatistics, ProductDetails]:
        return await self._cache.read(self._stores.comments.statistics_and_details, product_id)


class GroupReads:
    """Reads groups. One BatchGetItem reads all groups that are requested in a turn of the loop.

    The comments of a group are read product by product, and so are its statistics. The server
    predicts the cost of an operation before it knows how many products a group has. So this class
    counts these reads while the operation runs. Above a limit, a field that would read further
    products fails.
    """

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._loader: DataLoader[str, ProductGroup | None] = DataLoader(self._load, cache=False)
        self._left = MAX_REQUESTS

    async def group(self, group_id: str) -> ProductGroup | None:
        """Return a group; None if it has no products."""
        return await self._loader.load(group_id)

    def spend(self, group: ProductGroup) -> None:
        """Count a read of each product of a group.

        Raise TooManySegmentsError if the request has more than MAX_REQUESTS such reads.
        """
        self._left -= len(group.product_ids)
        if self._left < 0:
            raise TooManySegmentsError(
                f"The lists and statistics of groups would read more than {MAX_REQUESTS} "
                "partitions: select fewer groups at a time."
            )

    async def _load(self, group_ids: Sequence[str]) -> list[ProductGroup | None]:
        found = await self._stores.products.groups(group_ids)
        return [found.get(group_id) for group_id in group_ids]


@dataclass(frozen=True)
class Context:
    """The context value of one GraphQL request. ``viewer`` is None without a JWT."""

    viewer: Viewer | None
    stores: Stores
    explain: bool = False
    site: str | None = None
    """The public URL of the HTML pages, without a slash at its end; None if the URL is unknown."""
    known_products_only: bool = False
    """Whether the server refuses comments on products without stored details."""
    buyers_only: bool = False
    """Whether the server refuses comments from users who have not received the product."""
    allow_empty_text: bool = False
    """Whether a comment may have an empty text."""
    moderation: Moderation = field(default_factory=Moderation)
    """The server's moderation rule: which comments wait for a moderator."""
    publication: Publication = field(default_factory=Publication)
    """Decides whether new and edited comments are published."""
    cache: RequestCache = field(default_factory=RequestCache)
    prefetched: PrefetchedPages = field(default_factory=PrefetchedPages)
    built: Built = field(default_factory=Built)
    pace: Pace = field(default_factory=Pace)
    broker: Broker | None = None
    """The broker of comment events; None if this server does not offer subscriptions."""
    analytics: Analytics = field(default_factory=Analytics)
    uploads: PhotoUploads | None = None
    """Uploads of photos; None if this server has no bucket."""
    last_event_id: str | None = None
    """The cursor of the last event that the client received. A browser sends this cursor when it
    reopens an event stream:
    https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header"""
    voted: dict[str, bool] = field(default_factory=dict)
    """The votes that this request's mutations have changed, by comment id: True for a vote,
    False for a withdrawn vote. Reads of votes may not return these changes yet."""

    @cached_property
    def comments(self) -> DataLoader[str, Comment | None]:
        """Reads published comments by id.

        One request reads all ids that are requested in one turn of the event loop.
        """
        return DataLoader(self._comments, cache=False)

    @cached_property
    def products(self) -> ProductReads:
        """Reads statistics and details of products."""
        return ProductReads(self.stores, self.cache)

    @cached_property
    def groups(self) -> GroupReads:
        """Reads groups."""
        return GroupReads(self.stores)

    @cached_property
    def votes(self) -> DataLoader[Comment, bool]:
        """Reads whether the viewer has marked comments as helpful, in one read for a whole page."""
        return DataLoader(self._votes, cache=False)

    async def _comments(self, comment_ids: Sequence[str]) -> list[Comment | None]:
        store = self.stores.comments
        if len(comment_ids) == 1:
            return [await store.get(comment_ids[0])]
        found = await store.get_many(comment_ids)
        return [found.get(comment_id) for comment_id in comment_ids]

    async def _votes(self, comments: Sequence[Comment]) -> list[bool]:
        assert self.viewer is not None  # noqa: S101 - the field is null without a viewer
        unknown = {one.comment_id: one for one in comments if one.comment_id not in self.voted}
        marked: set[str] = set()
        if unknown:
            marked = await self.stores.votes.marked(self.viewer.user_id, list(unknown.values()))
        return [self.voted.get(one.comment_id, one.comment_id in marked) for one in comments]
