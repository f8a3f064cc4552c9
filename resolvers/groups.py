"""Groups of products that are variants of one product."""

import strawberry

from dal.model import (
    Product,
    ProductGroup,
)
from resolvers.selection import (
    Info,
)


def product_ids(root: Product | ProductGroup, info: Info) -> tuple[str, ...]:
    """Return the ids of a product, or of a group's products."""
    if isinstance(root, Product):
        return (root.product_id,)
    info.context.groups.spend(root)
    return root.product_ids


async def load_group(info: Info, group_id: str) -> ProductGroup | None:
    """Return the group with this group id; None if it has no products."""
    return await info.context.groups.group(group_id)


def group_products(root: strawberry.Parent[ProductGroup]) -> list[Product]:
    """Return the products of a group, sorted by id."""
    return [Product(product_id) for product_id in root.product_ids]
