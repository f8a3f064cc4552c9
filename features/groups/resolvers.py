"""Groups of products that are variants of one product."""

from collections.abc import Sequence

import strawberry
from strawberry.dataloader import DataLoader

from dal.model import Product
from features.groups.model import ProductGroup
from resolvers.context import Context
from resolvers.products import details_of
from resolvers.selection import Info


class GroupReads(DataLoader[str, ProductGroup | None]):
    """Reads groups. One BatchGetItem reads all groups that are requested in a turn of the loop.

    A group without products is None.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(self._load, cache=False)
        self._stores = context.stores

    async def _load(self, group_ids: Sequence[str]) -> list[ProductGroup | None]:
        found = await self._stores.groups.get_many(group_ids)
        return [found.get(group_id) for group_id in group_ids]


async def load_group(info: Info, group_id: str) -> ProductGroup | None:
    """Return the group with this group id; None if it has no products."""
    return await info.context.part(GroupReads).load(group_id)


async def group(root: strawberry.Parent[Product], info: Info) -> ProductGroup | None:
    """Return the product's group."""
    group_id = (await details_of(root, info)).group
    return await load_group(info, group_id) if group_id else None


def group_products(root: strawberry.Parent[ProductGroup]) -> list[Product]:
    """Return the products of a group, sorted by id."""
    return [Product(product_id) for product_id in root.product_ids]
