"""The details of products: title, picture and URL, as the shop sets them."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from dal import errors
from dal.client.retries import retry_on_conflict
from dal.client.table import Table
from dal.entities.entity import UNREADABLE
from dal.entities.product import PRODUCT_DETAILS, decode_titled, details_in, details_key
from dal.model import Product, ProductDetails
from dal.model.key_parts import LAST_CHARACTER, fold_prefix
from dal.query.access_patterns import query_of
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.repositories.bulk_write import Outcome, overwrite
from dal.table.items import ABSENT, unchanged
from dal.table.ranges import Range


class ProductRepository:
    """Reads and writes products' details. The Query of a product's statistics reads them too."""

    def __init__(self, table: Table) -> None:
        self._table = table
        executor = Executor(table.query, PRODUCT_DETAILS.indexes)
        self._titles = PageReader(executor, decode_titled, descending=False)

    async def details(self, product_ids: Collection[str]) -> dict[str, ProductDetails]:
        """Return the stored details of these products, by id.

        It takes one request per 100 products.
        """
        items = await self._table.get_many([details_key(one) for one in set(product_ids)])
        return details_in(items)

    async def search(self, title: str, cut: Slice) -> Page[Product]:
        """Return one page of the products with a title that begins with a text, by title.

        The index is global, so the page is eventually consistent.
        """
        start = fold_prefix(title)
        begins = Range(start, start + LAST_CHARACTER)
        return await self._titles.read(query_of({"initial": frozenset({start[:1]})}, begins), cut)

    async def update(self, product_id: str, changes: Mapping[str, str]) -> ProductDetails:
        """Create or change details. Raise ConflictError if other requests keep changing them.

        Raises AlreadyExistsError if another program has stored an item with the same key.
        """

        async def attempt() -> ProductDetails:
            key = details_key(product_id)
            item = await self._table.get(key)
            try:
                held = ProductDetails() if item is None else PRODUCT_DETAILS.decode(item)[1]
            except UNREADABLE:
                raise errors.AlreadyExistsError(
                    f"The item {key['PK']['S']}, {key['SK']['S']} of the table is another "
                    "program's: move it away before the product gets a title, a picture or an "
                    "address."
                ) from None
            details = replace(held, **changes)
            as_read = ABSENT if item is None else unchanged(item, ("data",))
            put = {"Item": PRODUCT_DETAILS.encode((product_id, details)), **as_read}
            try:
                await self._table.write([{"Put": put}])
            except errors.ConditionFailedError:
                raise errors.ConflictError(
                    "Other requests keep changing this product: try again in a moment."
                ) from None
            return details

        return await retry_on_conflict(attempt)

    async def put_many(self, details: Mapping[str, ProductDetails]) -> Outcome:
        """Write the details of products over the stored ones."""
        items = map(PRODUCT_DETAILS.encode, details.items())
        return await overwrite(self._table, [[item] for item in items])
