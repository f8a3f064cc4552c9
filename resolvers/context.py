"""What a resolver knows of the request besides its arguments."""

from dataclasses import dataclass, field

from dal.stores import Stores
from resolvers.budget import Budget
from resolvers.remembered import Once, Prefetched


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
    once: Once = field(default_factory=Once)
    prefetched: Prefetched = field(default_factory=Prefetched)
