"""Products' details: what a shop says of them, beside what customers do."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from dal import errors
from dal.client.retries import retry_on_conflict
from dal.client.table import Table
from dal.entities.entity import UNREADABLE
from dal.entities.product import decode_details, details_in, details_key, encode_details
from dal.model import ProductDetails
from dal.repositories.bulk_write import Outcome, overwrite
from dal.table.items import ABSENT, Item, unchanged


class ProductRepository:
    """All access to products' details; the Query of their statistics brings them too."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def details(self, product_ids: Collection[str]) -> dict[str, ProductDetails]:
        """Return the details of those products that have some, in one request per 100."""
        items = await self._table.get_many([details_key(one) for one in set(product_ids)])
        return details_in(items)

    async def update(self, product_id: str, changes: Mapping[str, str]) -> ProductDetails:
        """Change some details, or make them; ConflictError when others keep changing them.

        Raises AlreadyExistsError where an item of another program stands in their place.
        """

        async def attempt() -> ProductDetails:
            item = await self._table.get(details_key(product_id))
            held = ProductDetails() if item is None else _held(item)
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
        """Write details by product over what is there, and return what became of that."""
        return await overwrite(self._table, [[encode_details(*one)] for one in details.items()])


def _held(item: Item) -> ProductDetails:
    """Return the details of an item; AlreadyExistsError where another program wrote it."""
    try:
        return decode_details(item)[1]
    except UNREADABLE:
        raise errors.AlreadyExistsError(
            f"The item {item['PK']['S']}, {item['SK']['S']} of the table is another program's: "
            "move it away before the product gets a title, a picture or an address."
        ) from None
