"""The resolver of leaderboards."""

from dal import rules
from dal.cursors import Kind
from dal.model import ProductRank
from dal.pages import Page
from resolvers.arguments import slice_of
from resolvers.selection import Info, selects

SIZE = 10


async def leaderboard(
    info: Info, language: str | None = None, first: int | None = SIZE, after: str | None = None
) -> Page[ProductRank]:
    """Return a page of the products with the most comments rated 5."""
    cut = slice_of(info, SIZE if first is None else first, after, kind=Kind.COUNT)
    ranked = selects(info, "nodes", "rank") or selects(info, "edges", "node", "rank")
    tag = None if language is None else rules.language("language", language)
    info.context.budget.spend()
    return await info.context.stores.comments.leaderboard.page(tag, cut, ranked=ranked)
