"""Object types of leaderboards, shown straight from the domain objects."""

from __future__ import annotations

import strawberry

from schema.comments import Product
from schema.connections import Connection


@strawberry.type(description="A product's rank by number of comments rated 5.")
class ProductRank:
    """Shows dal.model.ProductRank."""

    product: Product = strawberry.field(description="The product.")
    count: int = strawberry.field(description="Number of comments rated 5.")
    rank: int | None = strawberry.field(
        description="Rank from 1; ties by descending product id. Null on pages that begin after "
        "the first 1,000 products."
    )


@strawberry.type(description="One page of a list.")
class LeaderboardConnection(Connection[ProductRank]):
    """Shows dal.query.pagination.Page of products' ranks."""
