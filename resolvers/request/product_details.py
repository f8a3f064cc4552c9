"""Products' details in one request: from the Query of their statistics where one is made."""

import asyncio
from collections.abc import Sequence

from strawberry.dataloader import DataLoader

from dal.model import ProductDetails
from dal.statistics.counts import CommentStatistics
from dal.stores import Stores

NONE = ProductDetails()


class ProductReads:
    """Reads products' statistics, and their details along with these or by 100 a request."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._under_way: dict[str, asyncio.Future[ProductDetails | None]] = {}
        self._details: DataLoader[str, ProductDetails] = DataLoader(self._load, cache=False)

    async def statistics(self, product_id: str) -> CommentStatistics:
        """Return a product's statistics as the latest acknowledged write left them."""
        found = self._under_way[product_id] = asyncio.get_running_loop().create_future()
        details: ProductDetails | None = None
        try:
            statistics, details = await self._stores.comments.statistics_and_details(product_id)
            return statistics
        finally:
            found.set_result(details)

    async def details(self, product_id: str) -> ProductDetails:
        """Return a product's details; empty if the shop has set none."""
        return await self._details.load(product_id)

    def forget(self, product_id: str) -> None:
        """Drop a product's cached details: they were written."""
        self._under_way.pop(product_id, None)

    async def _load(self, product_ids: Sequence[str]) -> list[ProductDetails]:
        """Return the details of the products requested in one turn of the event loop.

        By then the statistics that the same selection asks for are under way. Where they failed,
        the details are read by themselves.
        """
        found = {}
        for product_id in {*product_ids} & self._under_way.keys():
            details = await self._under_way[product_id]
            if details is not None:
                found[product_id] = details
        if missing := {*product_ids} - found.keys():
            found |= await self._stores.products.details(missing)
        return [found.get(product_id, NONE) for product_id in product_ids]
