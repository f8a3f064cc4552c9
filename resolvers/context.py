"""The context of one request: the user, the settings, the stores, and the cached reads."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from strawberry.dataloader import DataLoader

from dal.counts.counts import CommentStatistics
from dal.model import Comment, ProductDetails
from dal.model.standings import Permission
from dal.query.pagination import Page, Slice
from dal.stores import Stores
from dal.table.errors import DalError
from dal.writes.comments import Hold, Stored, Written
from resolvers.publication import Publication

Read = TypeVar("Read")

Text = TypeVar("Text", str, str | None)

Part = TypeVar("Part")
Found = TypeVar("Found", bound="Service")

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


class Grant(Protocol):
    """The right to write comments.

    Each user has one for all products. A JWT without an account may grant certain comments. Its
    request has no viewer, so its reads return what an anonymous visitor sees.
    """

    @property
    def author(self) -> Viewer:
        """The author of the comments, without roles."""
        ...

    async def permission(self, context: "Context", product_id: str | None = None) -> Permission:
        """Return what the author may write about a product.

        Raise ForbiddenError while the author's data is being erased, GrantError if the grant is no
        longer valid, and InvalidArgumentError if the grant does not include the product.
        """
        ...

    async def add(
        self, context: "Context", comment: Comment, key: str | None, hold: Hold
    ) -> Written:
        """Store a comment, and return it.

        ``key`` is the client's idempotency key. Raise GrantError if the grant permits one comment
        on a product, and the stored one has other contents or was deleted.
        """
        ...

    def may_change(self, written: Stored) -> None:
        """Raise an error unless the author may edit a comment."""
        ...


class RequestCache:
    """Executes a read once per request, even if several fields need the result."""

    def __init__(self, _: "Context") -> None:
        self._tasks: dict[tuple[object, ...], asyncio.Task[Any]] = {}
        self._waiting: Counter[asyncio.Task[Any]] = Counter()

    async def read(self, store: Callable[..., Coroutine[Any, Any, Read]], *of: str) -> Read:
        """Return the result of ``store(*of)``.

        Later calls with the same arguments return the same result. A mutation removes the cache
        from the context, because its write may have made the results out of date.
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
        """Return whether ``read(store, *of)`` was called."""
        return (store, *of) in self._tasks


class PrefetchedPages:
    """Pages of an object's lists that a resolver has read in the same Query as the object.

    For example, one Query reads an organisation and its first users. The resolver of the field
    ``users`` then takes the page of users and reads nothing.
    """

    def __init__(self, _: "Context") -> None:
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

    def __init__(self, _: "Context") -> None:
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
    """Gives turns of the event loop to large results and new documents, one after another.

    Completing a thousand rows or checking eight documents in one turn of the event loop would delay
    all other requests.
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

    def __init__(self, context: "Context") -> None:
        self._context = context
        self._stores = context.stores
        self.details: DataLoader[str, ProductDetails] = DataLoader(self._load, cache=False)
        """Loads a product's details. They are empty if the shop has not set any."""

    async def each(
        self, product_ids: Collection[str]
    ) -> Sequence[tuple[CommentStatistics | None, ProductDetails]]:
        """Return the statistics and details of products.

        The statistics are None until the server has counted the comments.
        """
        if len(product_ids) > 1:
            found = await asyncio.gather(*map(self._both, product_ids))
        else:  # no tasks, because most lists have a single product
            found = [await self._both(one) for one in product_ids]
        counted = bool(found) and await self._stores.comments.counted()
        return [(statistics if counted else None, details) for statistics, details in found]

    async def _load(self, product_ids: Sequence[str]) -> list[ProductDetails]:
        """Return the details of the products that were requested in one turn of the event loop.

        If a field of the client's request has started a Query for a product's statistics, this
        Query also reads the details, and this method awaits it. If the Query fails, this method
        reads the details itself.
        """
        found, cache = {}, self._context.part(RequestCache)
        for product_id in {*product_ids}:
            if cache.known(self._stores.comments.statistics_and_details, product_id):
                with suppress(DalError):
                    _, found[product_id] = await self._both(product_id)
        if missing := {*product_ids} - found.keys():
            found |= await self._stores.products.details(missing)
        return [found.get(product_id, NO_DETAILS) for product_id in product_ids]

    async def _both(self, product_id: str) -> tuple[CommentStatistics, ProductDetails]:
        cache = self._context.part(RequestCache)
        return await cache.read(self._stores.comments.statistics_and_details, product_id)


class CommentReads(DataLoader[str, Comment | None]):
    """Reads published comments by id. A comment that is not published is None.

    One request reads all ids that are requested in one turn of the event loop.
    """

    def __init__(self, context: "Context") -> None:
        super().__init__(self._load, cache=False)
        self._comments = context.stores.comments

    async def _load(self, comment_ids: Sequence[str]) -> list[Comment | None]:
        if len(comment_ids) == 1:
            return [await self._comments.get(comment_ids[0])]
        found = await self._comments.get_many(comment_ids)
        return [found.get(comment_id) for comment_id in comment_ids]


class Service(Protocol):
    """An object that the requests of a process share. A server can be without it."""

    missing: ClassVar[str]
    """The message for clients of a server without this object."""


class NotAvailableError(DalError):
    """The server does not offer a feature."""


@dataclass(slots=True, eq=False)
class Context:
    """The context value of one GraphQL request. ``viewer`` is None without a user's JWT."""

    # Every request creates one, and a frozen class takes four times as long.

    viewer: Viewer | None
    stores: Stores
    explain: bool = False
    show_cost: bool = False
    """Whether every client may see the cost of operations on public data."""
    site: str | None = None
    """The public URL of the HTML pages, without a slash at its end; None if the URL is unknown."""
    known_products_only: bool = False
    """Whether the server refuses comments on products without stored details."""
    buyers_only: bool = False
    """Whether the server refuses comments from users who have not received the product."""
    allow_empty_text: bool = False
    """Whether a comment may have an empty text."""
    publication: Publication = field(default_factory=Publication)
    """Decides whether new and edited comments are published."""
    grant: Grant | None = None
    """The grant of a JWT without an account. A request has a viewer, a grant, or neither."""
    parts: dict[Callable[..., Any], Any] = field(default_factory=dict)
    """The objects that ``part`` has created."""
    services: Mapping[type[Any], Any] = field(default_factory=dict)
    """The objects of the process by type. ``service`` returns them."""
    pace: Pace = field(default_factory=Pace)

    def part(self, kind: Callable[["Context"], Part]) -> Part:
        """Return this request's object of a kind, such as its data loaders.

        ``kind`` is the object's class. The first call creates the object.
        """
        if kind not in self.parts:
            self.parts[kind] = kind(self)
        part: Part = self.parts[kind]
        return part

    def service(self, kind: type[Found]) -> Found:
        """Return the process's object of a type.

        Raise NotAvailableError if the server does not have the object.
        """
        found: Found | None = self.services.get(kind)
        if found is None:
            raise NotAvailableError(kind.missing)
        return found
