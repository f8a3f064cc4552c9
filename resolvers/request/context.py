"""What a resolver knows of the request besides its arguments, and what it may still read."""

from dataclasses import dataclass, field

from dal.stores import Stores
from resolvers.request.cache import PrefetchedPages, RequestCache

MAX_PAGES = 200
"""Pages and single newest comments that one operation may read: nested lists multiply them."""


class TooManyPagesError(Exception):
    """The operation asks for more pages than one request may read."""


@dataclass(slots=True)
class Budget:
    """The pages that an operation may still read."""

    pages: int = MAX_PAGES

    def spend(self) -> None:
        """Take one page; TooManyPagesError when none is left."""
        if self.pages == 0:
            raise TooManyPagesError(
                f"The operation reads more than {MAX_PAGES} pages: ask for fewer lists at a time."
            )
        self.pages -= 1


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
    budget: Budget = field(default_factory=Budget)
    cache: RequestCache = field(default_factory=RequestCache)
    prefetched: PrefetchedPages = field(default_factory=PrefetchedPages)
