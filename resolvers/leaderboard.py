"""The products with the most comments rated 5."""

from dal.model import (
    ProductRank,
    rules,
)
from dal.query.cursors import CursorKind
from dal.query.pagination import Page
from resolvers.selection import (
    Info,
    selects,
    slice_of,
)


async def leaderboard(
    info: Info,
    language: str | None = None,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> Page[ProductRank]:
    """Return a page of the leaderboard: the products with the most comments rated 5."""
    cut = slice_of(info, first, after, last, before, kind=CursorKind.COUNT)
    ranked = selects(info, "nodes", "rank") or selects(info, "edges", "node", "rank")
    tag = None if language is None else rules.language("language", language)
    return await info.context.stores.leaderboard.page(tag, cut, ranked=ranked)
