"""The GraphQL types of the leaderboard."""

from typing import ClassVar

import strawberry

from schema.execution.facts import PUBLIC
from schema.products import Product
from schema.types import Connection


@strawberry.type(
    description="A product on the leaderboard, ranked by its number of comments rated 5."
)
class ProductRank:
    """The GraphQL type of ``dal.model.ProductRank``."""

    shared: ClassVar = True
    product: Product = strawberry.field(description="The product.", metadata=PUBLIC)
    count: int = strawberry.field(description="Number of comments rated 5.", metadata=PUBLIC)
    rank: int | None = strawberry.field(
        description="Rank, starting at 1. Products with equal counts are ranked by descending "
        "product id, so no rank occurs twice. Null on pages that begin after the first 1,000 "
        "products.",
        metadata=PUBLIC,
    )


@strawberry.type(description="A page of the leaderboard.")
class LeaderboardConnection(Connection[ProductRank]):
    """The GraphQL type of ``dal.query.pagination.Page`` of ranked products."""
