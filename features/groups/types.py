"""The GraphQL type of groups of products."""

from typing import ClassVar

import strawberry

from dal import model
from dal.counts import counts
from dal.query import pagination
from features.groups import resolvers as groups
from features.groups.model import ProductGroup as Group
from features.groups.repository import MAX_MEMBERS
from resolvers import products as product_resolvers
from resolvers import statistics
from schema.comments import CommentConnection
from schema.costs import listed
from schema.execution.facts import Reads, facts
from schema.products import Product
from schema.statistics import CommentStatistics
from schema.types import Node

USUAL_MEMBERS = 10
"""The server assumes this number of products in each group when it predicts the cost of an
operation. A group may have more products, so ``resolvers.product_sets`` limits the actual reads."""

_OF_MEMBERS = Reads(USUAL_MEMBERS, most_requests=MAX_MEMBERS + 2)


@strawberry.type(
    description="A group of 1 to 60 products that are variants of one product, such as its colours."
)
class ProductGroup(Node):
    """The GraphQL type of ``features.groups.model.ProductGroup``."""

    shows: ClassVar = Group
    group_id: strawberry.ID = strawberry.field(description="The shop's group id.")
    products: list[model.Product] = strawberry.field(
        resolver=groups.group_products,
        graphql_type=list[Product],
        description="Products of the group, sorted by `productId`.",
        metadata=facts(reads=listed(USUAL_MEMBERS, MAX_MEMBERS)),
    )
    comments: "pagination.Page[model.Comment] | None" = strawberry.field(
        resolver=product_resolvers.comments,
        graphql_type=CommentConnection | None,
        description="Published comments on all products of the group in one list, filtered and "
        "sorted. The server reads the comments of each product separately, so pages of groups "
        "with more than about 10 products are slower and cost more.",
        metadata=facts(
            reads=Reads(USUAL_MEMBERS, 0.5, paged=True, planned=True, most_requests=MAX_MEMBERS),
            below={"totalCount": _OF_MEMBERS, "jsonLd": _OF_MEMBERS},
        ),
    )
    statistics: counts.CommentStatistics | None = strawberry.field(
        resolver=statistics.statistics,
        graphql_type=CommentStatistics | None,
        description="Numbers of comments on all products of the group, by rating and language. "
        "Only comments in the given languages are counted; by default, comments in all languages. "
        "Null until the server has counted the comments for the first time.",
        metadata=facts(reads=_OF_MEMBERS),
    )
