"""Object types of leaderboards, shown straight from the domain objects."""

from __future__ import annotations

import strawberry

from schema.comments import Product
from schema.connections import Connection


@strawberry.type(description="A product's place among those with the most comments rated 5.")
class ProductRank:
    """Shows dal.model.ProductRank."""

    product: Product = strawberry.field(description="Whose place it is.")
    count: int = strawberry.field(description="How many comments with rating 5 it has.")
    rank: int | None = strawberry.field(
        description="1 for the first; products of one count stand in the reverse order of their "
        "ids. Null on pages that begin beyond the first 1,000 products, read either way."
    )


@strawberry.type(description="One page of a list.")
class LeaderboardConnection(Connection[ProductRank]):
    """Shows dal.query.pagination.Page of products' ranks."""
