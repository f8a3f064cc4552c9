"""Groups of products that are variants of one product."""

from collections.abc import Sequence

import strawberry
from strawberry.dataloader import DataLoader

from dal.dynamodb.account import MAX_REQUESTS
from dal.model import Product, ProductGroup
from dal.query.errors import TooManySegmentsError
from resolvers.context import Context
from resolvers.selection import Info


class GroupReads:
    """Reads groups. One BatchGetItem reads all groups that are requested in a turn of the loop.

    The comments of a group are read product by product, and so are its statistics. The server
    predicts the cost of an operation before it knows how many products a group has. So this class
    counts these reads while the operation runs. Above a limit, a field that would read further
    products fails.
    """

    def __init__(self, context: Context) -> None:
        self._stores = context.stores
        self._loader: DataLoader[str, ProductGroup | None] = DataLoader(self._load, cache=False)
        self._left = MAX_REQUESTS

    async def group(self, group_id: str) -> ProductGroup | None:
        """Return a group; None if it has no products."""
        return await self._loader.load(group_id)

    def spend(self, group: ProductGroup) -> None:
        """Count a read of each product of a group.

        Raise TooManySegmentsError if the request has more than MAX_REQUESTS such reads.
        """
        self._left -= len(group.product_ids)
        if self._left < 0:
            raise TooManySegmentsError(
                f"The lists and statistics of groups would read more than {MAX_REQUESTS} "
                "partitions: select fewer groups at a time."
            )

    async def _load(self, group_ids: Sequence[str]) -> list[ProductGroup | None]:
        found = await self._stores.products.groups(group_ids)
        return [found.get(group_id) for group_id in group_ids]


def product_ids(root: Product | ProductGroup, info: Info) -> tuple[str, ...]:
    """Return the ids of a product, or of a group's products."""
    if isinstance(root, Product):
        return (root.product_id,)
    info.context.part(GroupReads).spend(root)
    return root.product_ids


async def load_group(info: Info, group_id: str) -> ProductGroup | None:
    """Return the group with this group id; None if it has no products."""
    return await info.context.part(GroupReads).group(group_id)


def group_products(root: strawberry.Parent[ProductGroup]) -> list[Product]:
    """Return the products of a group, sorted by id."""
    return [Product(product_id) for product_id in root.product_ids]
