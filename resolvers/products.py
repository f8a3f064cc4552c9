"""Products: their comments and details."""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, TypeAlias, Unpack

import strawberry

from dal.model import (
    NEGATIVE,
    POSITIVE,
    RATINGS,
    Comment,
    OrderLine,
    Product,
    ProductDetails,
    rules,
)
from dal.query.cursors import CursorKind
from dal.query.pagination import Page
from dal.repositories.comments import Selection
from features.plans.arguments import PlanBy
from resolvers.authorization import STAFF, require_role
from resolvers.change_log import ChangeLog
from resolvers.context import NO_DETAILS, ProductReads
from resolvers.mutations import Fields, changed, reported
from resolvers.node_ids import plain_id
from resolvers.product_sets import ProductSet, product_ids
from resolvers.selection import (
    After,
    Before,
    CommentOrder,
    Contains,
    CreatedBefore,
    CreatedFrom,
    First,
    HasPhotos,
    Info,
    Input,
    Languages,
    Last,
    PageArguments,
    ProductId,
    Ratings,
    VerifiedOnly,
    selects,
    slice_of,
    with_arguments,
)
from schema.execution.facts import Sorting, argument_fact


def product(product_id: ProductId) -> Product:
    """Return the product with this id. Every valid id has a product."""
    return Product(plain_id("productId", product_id))


def products(
    product_ids: Annotated[
        list[strawberry.ID],
        strawberry.argument(
            description="The shop's product ids. An id may occur more than once. Maximum 100."
        ),
    ],
) -> list[Product]:
    """Return the products with these ids, in the same order."""
    named = enumerate(rules.few("productIds", product_ids))
    return [Product(plain_id(f"productIds.{number}", one)) for number, one in named]


@with_arguments
async def product_search(
    info: Info,
    title: Annotated[
        str,
        strawberry.argument(
            description="One or several words, of which the last may be incomplete. Maximum 200 "
            "characters."
        ),
    ],
    **given: Unpack[PageArguments],
) -> Page[Product]:
    """Return a page of the products with titles in which ``title`` begins at a word."""
    cut = slice_of(info, **given, kind=CursorKind.TEXT)
    text = rules.stated_title("title", title)
    return await info.context.stores.products.search(text, cut)


async def load(info: Info, product_id: str) -> Product:
    """Return the product with this id, for ``node``, which has checked the id."""
    del info
    return Product(product_id)


def product_of(root: strawberry.Parent[Comment | OrderLine]) -> Product:
    """Return the product of a comment or of an order's line."""
    return Product(root.product_id)


CommentOrderBy: TypeAlias = Annotated[
    CommentOrder | None,
    strawberry.argument(
        description="Sort order. Default NEWEST.",
        metadata=argument_fact(
            Sorting(
                by_filter=frozenset({CommentOrder.HIGHEST_RATING, CommentOrder.LOWEST_RATING}),
                filter="rating",
                filter_values=len(RATINGS),
                in_stages=frozenset({CommentOrder.MOST_HELPFUL}),
            )
        ),
    ),
]


async def comments(  # noqa: PLR0913, PLR0917 - the field's arguments
    root: strawberry.Parent[Product | ProductSet],
    info: Info,
    rating: Ratings = None,
    language: Languages = None,
    created_from: CreatedFrom = None,
    created_before: CreatedBefore = None,
    verified_only: VerifiedOnly = False,  # noqa: FBT002 - the field's argument
    has_photos: HasPhotos = False,  # noqa: FBT002 - the field's argument
    contains: Contains = None,
    order_by: CommentOrderBy = CommentOrder.NEWEST,
    first: First = None,
    after: After = None,
    last: Last = None,
    before: Before = None,
    plan_by: PlanBy = None,
) -> Page[Comment]:
    """Return a page of the comments on a product, or on all products of a set."""
    start, end = rules.period(created_from, created_before)
    ordered = order_by or CommentOrder.NEWEST
    product_id, *variants = product_ids(root, info)
    selection = Selection(
        product_id,
        ratings=None if rating is None else rules.ratings("rating", rating),
        languages=None if language is None else rules.languages("language", language),
        created_from=start,
        created_before=end,
        verified_only=bool(verified_only),
        has_photos=bool(has_photos),
        order=ordered.order,
        variants=frozenset(variants),
        search="" if contains is None else rules.search("contains", contains),
    )
    cut = slice_of(
        info, first, after, last, before, kind=ordered.kind, order_by=ordered, plan_by=plan_by
    )
    followed = isinstance(root, Product) and selects(info, "eventCursor")
    log: ChangeLog | None = info.context.services.get(ChangeLog) if followed else None
    # Take the last position in the log of changes before the rows are read. The events after this
    # position then include the changes that the log receives during the read.
    since = None if log is None else log.last
    store = info.context.stores.comments
    read = store.counted_page if selects(info, "totalCount") else store.page
    page = await read(selection, cut, since)
    return page if since is None else replace(page, since=since)


def detail(name: str) -> Callable[[Product, Info], Coroutine[Any, Any, str | None]]:
    """Return the resolver of a detail of products, such as the title."""

    async def resolver(root: strawberry.Parent[Product], info: Info) -> str | None:
        return getattr(await details_of(root, info), name) or None

    return resolver


async def is_known(root: strawberry.Parent[Product], info: Info) -> bool:
    """Return whether the shop has set details of the product, or the product has comments."""
    if await details_of(root, info) != NO_DETAILS:
        return True
    return await info.context.stores.comments.newest(Selection(root.product_id)) is not None


async def details_of(product: Product, info: Info) -> ProductDetails:
    """Return the details that the shop has set for a product."""
    return product.details or await info.context.part(ProductReads).details.load(product.product_id)


@strawberry.input(description="Fields to change. An omitted field keeps its value.")
class UpdateProductInput:
    """Input of ``updateProduct``: new details of a product."""

    product_id: strawberry.ID = strawberry.field(description="The shop's product id.")
    title: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="Title. Maximum 200 characters. Null or an empty string removes the title.",
    )
    picture_url: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="HTTPS URL of the product's picture, or its path on this server. Null or an "
        "empty string removes the URL.",
    )
    url: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="HTTPS URL of the product in the shop, or its path on this server. Null or "
        "an empty string removes the URL.",
    )
    gtin: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="Global Trade Item Number: the 8, 12, 13 or 14 digits of the barcode. Null or "
        "an empty string removes the number.",
    )
    brand: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="Brand. Maximum 70 characters. Null or an empty string removes the brand.",
    )
    mpn: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="Manufacturer's part number. Maximum 70 characters. Null or an empty string "
        "removes the number.",
    )


def _address(argument: str, value: str) -> str:
    return value and rules.address(argument, value)


def _gtin(argument: str, value: str) -> str:
    return value and rules.gtin(argument, value)


@reported(product=None)
async def update_product(info: Info, input: Input[UpdateProductInput]) -> Fields:
    """Set details of a product, such as its title. For staff."""
    require_role(info.context, STAFF, "change products")
    changes = changed(
        input,
        {
            "product_id": plain_id,
            "title": rules.title,
            "picture_url": _address,
            "url": _address,
            "gtin": _gtin,
            "brand": rules.trade_name,
            "mpn": rules.trade_name,
        },
        {"title", "picture_url", "url", "gtin", "brand", "mpn"},
    )
    product_id = changes.pop("product_id")
    details = await info.context.stores.products.update(product_id, changes)
    return {"product": Product(product_id, details)}


async def most_recent_positive(root: strawberry.Parent[Product], info: Info) -> Comment | None:
    """Return the newest comment rated 4 or 5; None without such a comment."""
    return await info.context.stores.comments.newest(Selection(root.product_id, POSITIVE))


async def most_recent_negative(root: strawberry.Parent[Product], info: Info) -> Comment | None:
    """Return the newest comment rated 1 or 2; None without such a comment."""
    return await info.context.stores.comments.newest(Selection(root.product_id, NEGATIVE))


async def last_commented_at(root: strawberry.Parent[Product], info: Info) -> datetime | None:
    """Return the creation time of the newest comment; None without comments."""
    newest = await info.context.stores.comments.newest(Selection(root.product_id))
    return newest.created_at if newest else None
