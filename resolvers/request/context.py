"""What a resolver knows of the request besides its arguments."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from strawberry.dataloader import DataLoader

from dal.analytics.service import Analytics
from dal.live.log import Broker, InProcessBroker
from dal.model import Comment
from dal.stores import Stores
from resolvers.request.cache import PrefetchedPages, RequestCache
from resolvers.request.pace import Pace
from resolvers.request.product_details import ProductReads


@dataclass(frozen=True, slots=True)
class Viewer:
    """The user and roles of a verified JWT."""

    username: str
    roles: frozenset[str] = frozenset()
    expires: float | None = field(default=None, compare=False)
    """When the JWT ends, in seconds of Unix time."""


@dataclass(frozen=True, slots=True)
class Context:
    """The context value of one GraphQL request; ``viewer`` is None for anybody."""

    viewer: Viewer | None
    stores: Stores
    explain: bool = False
    known_products_only: bool = False
    """Whether comments on products without stored details are refused."""
    cache: RequestCache = field(default_factory=RequestCache)
    prefetched: PrefetchedPages = field(default_factory=PrefetchedPages)
    pace: Pace = field(default_factory=Pace)
    broker: Broker = field(default_factory=InProcessBroker)
    analytics: Analytics = field(default_factory=Analytics)
    last_event_id: str | None = None
    """The cursor of the last event that a browser has had of a stream that it opens again."""
    comments: DataLoader[str, Comment | None] = field(init=False)
    """Looks comments up, those of one turn of the event loop in one request to DynamoDB."""
    products: ProductReads = field(init=False)

    def __post_init__(self) -> None:
        loader = DataLoader(self._comments, cache=False)
        object.__setattr__(self, "comments", loader)
        object.__setattr__(self, "products", ProductReads(self.stores))

    async def _comments(self, comment_ids: Sequence[str]) -> list[Comment | None]:
        store = self.stores.comments
        if len(comment_ids) == 1:
            return [await store.get(comment_ids[0])]
        found = await store.get_many(comment_ids)
        return [found.get(comment_id) for comment_id in comment_ids]
