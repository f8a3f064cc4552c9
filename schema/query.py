"""The root of all queries."""

from __future__ import annotations

import strawberry

from dal import model, pages
from dal.errors import InvalidArgumentError
from resolvers import comments, leaderboard, products
from resolvers import nodes as node_resolvers
from schema.leaderboard import LeaderboardConnection
from schema.types import Comment, Node, Product


@strawberry.type
class Query:
    """Binds each root field to its resolver."""

    node: node_resolvers.AnyNode | None = strawberry.field(
        resolver=node_resolvers.node,
        graphql_type=Node | None,
        description="Any object by its global id.",
    )
    nodes: list[node_resolvers.AnyNode | InvalidArgumentError | None] = strawberry.field(
        resolver=node_resolvers.nodes,
        graphql_type=list[Node | None],
        description="Objects by their global ids, in the same order; null for a miss.",
    )
    product: model.Product = strawberry.field(resolver=products.product, graphql_type=Product)
    comment: model.Comment | None = strawberry.field(
        resolver=comments.comment, graphql_type=Comment | None
    )
    leaderboard: pages.Page[model.ProductRank] = strawberry.field(
        resolver=leaderboard.leaderboard,
        graphql_type=LeaderboardConnection,
        description="The products with the most comments rated 5, in one language or in any.",
    )
