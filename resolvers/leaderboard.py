"""The products with the most comments rated 5."""

from typing import Annotated, Unpack

import strawberry

from dal.model import ProductRank, rules
from dal.query.cursors import CursorKind
from dal.query.pagination import Page
from resolvers.selection import (
    Info,
    PageArguments,
    selects,
    slice_of,
    with_arguments,
)
from schema.execution.facts import Effect, argument_fact


@with_arguments
async def leaderboard(
    info: Info,
    language: Annotated[
        str | None,
        strawberry.argument(
            description="Language of the comments to count, as a BCP 47 tag. As in "
            "`Product.comments`, `en` also finds `en-US`; but `no-NO` finds only Bokmål. "
            "Default: all languages.",
            metadata=argument_fact(Effect.PARTITIONS),
        ),
    ] = None,
    **given: Unpack[PageArguments],
) -> Page[ProductRank]:
    """Return a page of the leaderboard: the products with the most comments rated 5."""
    cut = slice_of(info, **given, kind=CursorKind.COUNT)
    ranked = selects(info, "nodes", "rank") or selects(info, "edges", "node", "rank")
    tag = None if language is None else rules.language("language", language)
    return await info.context.stores.leaderboard.page(tag, cut, ranked=ranked)
