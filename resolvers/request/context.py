"""What a resolver knows of the request besides its arguments."""

from dataclasses import dataclass, field

from dal.stores import Stores
from resolvers.request.cache import PrefetchedPages, RequestCache
from resolvers.request.pace import Pace


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks, as a verified JWT says."""

    username: str
    roles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Context:
    """The context value of one GraphQL request; ``viewer`` is None for anybody."""

    viewer: Viewer | None
    stores: Stores
    explain: bool = False
    cache: RequestCache = field(default_factory=RequestCache)
    prefetched: PrefetchedPages = field(default_factory=PrefetchedPages)
    pace: Pace = field(default_factory=Pace)
