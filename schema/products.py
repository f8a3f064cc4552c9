"""The GraphQL types of products."""

from datetime import datetime
from typing import Annotated, Any, ClassVar

import strawberry

from dal import model
from dal.counts import counts
from dal.query import pagination
from dal.query.plan import PlanBasis
from features.analytics import questions
from features.analytics import resolvers as analytics
from features.analytics.types import Trend
from features.groups import resolvers as groups
from features.groups.model import ProductGroup
from features.votes import resolvers as votes
from features.votes.model import Highlights
from resolvers import products, statistics
from schema.comments import Comment, CommentConnection
from schema.costs import NEWEST, NOTHING, OF_PRODUCT, QUESTION, ROW, mutation, public
from schema.execution.facts import Reads, facts
from schema.statistics import CommentStatistics
from schema.types import USER_ERRORS, Connection, Node, UserError, show_enum

show_enum(
    PlanBasis,
    "Statistics that the optimizer may use to plan a page.",
    ROW_LOCATIONS="All statistics: counts, and the positions of rows that the server has read "
    "before. This is the default.",
    COUNTS="Only the counts per rating and language.",
    NOTHING="No statistics. For comments, the plan is the same as with FULL_PAGES.",
    FULL_PAGES="No optimizer. The server uses the index that covers the most filters, and reads a "
    "full page from every partition that the filters select.",
)

_LISTED = {"ProductConnection.nodes": NOTHING, "ProductEdge.node": NOTHING}
"""Reads of details below a list of products. The resolver of the list has read them."""


def _detail(name: str, description: str) -> Any:
    """Declare a field with a detail of the product."""
    metadata = facts(reads=OF_PRODUCT, public=True, under=_LISTED)
    resolver = products.detail(name)
    return strawberry.field(resolver=resolver, description=description, metadata=metadata)


@strawberry.type(
    description="A product of the shop. Every valid product id has a product; `isKnown` shows "
    "whether the server has data about the product.",
)
class Product(Node):
    """The GraphQL type of ``dal.model.Product``."""

    shows: ClassVar = model.Product
    shared: ClassVar = True
    product_id: strawberry.ID = public(description="The shop's product id.")
    is_known: bool | None = strawberry.field(
        resolver=products.is_known,
        description="Whether the product has published comments, or the shop has set the "
        "product's title or another detail.",
        # Reads the newest comment, in addition to the product's details.
        metadata=facts(
            reads=Reads(unit=0.5, together=True),
            public=True,
            under=_LISTED,
        ),
    )
    title: str | None = _detail("title", "Title; null if the shop has set none.")
    picture_url: str | None = _detail(
        "picture_url",
        "HTTPS URL of the product's picture, or the picture's path on this server. Null if the "
        "shop has set none.",
    )
    url: str | None = _detail(
        "url",
        "HTTPS URL of the product's page in the shop, or the page's path on this server. Null if "
        "the shop has set none.",
    )
    gtin: str | None = _detail(
        "gtin",
        "Global Trade Item Number, the digits of the barcode; null if the shop has set none.",
    )
    brand: str | None = _detail("brand", "Brand; null if the shop has set none.")
    mpn: str | None = _detail("mpn", "Manufacturer's part number; null if the shop has set none.")
    comments: "pagination.Page[model.Comment] | None" = strawberry.field(
        resolver=products.comments,
        graphql_type=CommentConnection | None,
        description="Published comments on the product, filtered and sorted. A cursor stays "
        "valid if the filters change, or if `orderBy` changes between NEWEST and OLDEST. If "
        "`orderBy` changes otherwise, the cursor fails with BAD_CURSOR. In a list sorted by "
        "rating or votes, a comment may be missing or appear on two pages if its rating or votes "
        "change while you read the pages. Every other comment appears on exactly one page.",
        metadata=facts(reads=Reads(unit=0.5, paged=True, planned=True), public=True),
    )
    statistics: counts.CommentStatistics | None = strawberry.field(
        resolver=statistics.statistics,
        graphql_type=CommentStatistics | None,
        description="Numbers of comments by rating and language. Only comments in the given "
        "languages are counted; by default, comments in all languages. Null until the server has "
        "counted the comments for the first time.",
        # Further responses, as in ``COUNTS``, in addition to the product's details.
        metadata=facts(reads=Reads(0, together=True, most_requests=2), public=True),
    )
    group: ProductGroup | None = strawberry.field(
        resolver=groups.group,
        graphql_type=Annotated["ProductGroup", strawberry.lazy("features.groups.types")] | None,
        description="The group of variants to which the product belongs; null if the shop has "
        "set none.",
        # Reads the group, in addition to the product's details.
        metadata=facts(reads=Reads(together=True)),
    )
    most_recent_positive: model.Comment | None = strawberry.field(
        resolver=products.most_recent_positive,
        graphql_type=Comment | None,
        description="The newest comment rated 4 or 5; null if there is none.",
        metadata=facts(reads=NEWEST, public=True),
    )
    most_recent_negative: model.Comment | None = strawberry.field(
        resolver=products.most_recent_negative,
        graphql_type=Comment | None,
        description="The newest comment rated 1 or 2; null if there is none.",
        metadata=facts(reads=NEWEST, public=True),
    )
    highlights: Highlights | None = strawberry.field(
        resolver=votes.highlights,
        graphql_type=Annotated["ProductHighlights", strawberry.lazy("features.votes.types")] | None,
        description="The positive comment and the critical comment with the most helpful votes.",
        # 40 of the largest rows fill two responses of 1 MB.
        metadata=facts(reads=Reads(2, 6.5), public=True),
    )
    last_commented_at: datetime | None = strawberry.field(
        resolver=products.last_commented_at,
        description="Creation time of the newest comment; null without comments.",
        metadata=facts(reads=ROW, public=True),
    )
    trend: questions.Trend | None = strawberry.field(
        resolver=analytics.trend,
        graphql_type=Trend | None,
        description="Number and mean rating of the product's comments over time. The data comes "
        "from the last export to the analytics store, so it may be older than `statistics`. "
        "Fails with NOT_AVAILABLE if the server has no such store, and with UNAVAILABLE if the "
        "store does not answer.",
        metadata=facts(reads=QUESTION),
    )


@strawberry.type(description="A page of products.")
class ProductConnection(Connection[Product]):
    """The GraphQL type of ``dal.query.pagination.Page`` of products."""


@strawberry.type(description="Result of `updateProduct`.")
class UpdateProductPayload:
    """The GraphQL type of what ``resolvers.products.update_product`` returns."""

    product: Product | None = strawberry.field(description="The updated product; null on errors.")
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class ProductMutation:
    """Binds each mutation to its resolver."""

    update_product: UpdateProductPayload | None = mutation(
        resolver=products.update_product,
        description="Change a product's details, such as its title. Only for staff.",
    )
