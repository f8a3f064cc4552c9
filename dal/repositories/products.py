"""Products' details: title, picture and URL, as the shop sets them."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from dal import errors
from dal.client.retries import retry_on_conflict
from dal.client.table import Table
from dal.entities.entity import UNREADABLE
from dal.entities.product import decode_details, details_in, details_key, encode_details
from dal.model import ProductDetails
from dal.repositories.bulk_write import Outcome, overwrite
from dal.table.items import ABSENT, unchanged


class ProductRepository:
    """All access to products' details; the Query of their statistics reads them too."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def details(self, product_ids: Collection[str]) -> dict[str, ProductDetails]:
        """Return the details of those products that have some, in one request per 100."""
        items = await self._table.get_many([details_key(one) for one in set(product_ids)])
        return details_in(items)

    async def update(self, product_id: str, changes: Mapping[str, str]) -> ProductDetails:
        """Change or create details; ConflictError if other writes keep changing them.

        Raises AlreadyExistsError if another program's item has their key.
        """

        async def attempt() -> ProductDetails:
            key = details_key(product_id)
            item = await self._table.get(key)
            try:
                held = ProductDetails() if item is None else decode_details(item)[1]
            except UNREADABLE:
                raise errors.AlreadyExistsError(
                    f"The item {key['PK']['S']}, {key['SK']['S']} of the table is another "
                    "program's: move it away before the product gets a title, a picture or an "
                    "address."
                ) from None
            details = replace(held, **changes)
            as_read = ABSENT if item is None else unchanged(item, ("data",))
            put = {"Item": encode_details(product_id, details), **as_read}
            try:
                await self._table.write([{"Put": put}])
            except errors.ConditionFailedError:
                raise errors.ConflictError(
                    "This product keeps being changed elsewhere: try again in a moment."
                ) from None
            return details

        return await retry_on_conflict(attempt)

    async def put_many(self, details: Mapping[str, ProductDetails]) -> Outcome:
        """Write details by product over the stored ones."""
        return await overwrite(self._table, [[encode_details(*one)] for one in details.items()])
