"""The GraphQL types of the leaderboard."""

from typing import ClassVar

import strawberry

from schema.costs import public
from schema.products import Product
from schema.types import Connection


@strawberry.type(
    description="A product on the leaderboard, ranked by its number of comments rated 5."
)
class ProductRank:
    """The GraphQL type of ``dal.model.ProductRank``."""

    shared: ClassVar = True
    product: Product = public(description="The product.")
    count: int = public(description="Number of comments rated 5.")
    rank: int | None = public(
        description="Rank, starting at 1. Products with equal counts are ranked by descending "
        "product id, so no rank occurs twice. Null on pages that begin after the first 1,000 "
        "products."
    )


@strawberry.type(description="A page of the leaderboard.")
class LeaderboardConnection(Connection[ProductRank]):
    """The GraphQL type of ``dal.query.pagination.Page`` of ranked products."""
