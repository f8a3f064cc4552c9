"""Reads and writes the details that the shop sets for products: title, picture, URL and group."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Protocol

from dal.catalogue import query_of
from dal.dynamodb.concurrency import batched
from dal.dynamodb.errors import AlreadyExistsError
from dal.dynamodb.retries import retry_on_change
from dal.dynamodb.table import Table
from dal.entities.product import PRODUCT_DETAILS, decode_titled, details_in, details_key
from dal.model import Product, ProductDetails
from dal.model.titles import fold_prefix
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.table.entity import UNREADABLE
from dal.table.items import Item, contents, replacement
from dal.table.key_parts import LAST_CHARACTER
from dal.table.ranges import Range
from dal.writes.overwrite import NOTHING, UNCHANGED, Outcome, compared

_ITEMS_AT_ONCE = 400
"""Number of products whose details are read together."""


class Groups(Protocol):
    """Writes products with a group, and products that leave a group."""

    async def put_many(self, moved: Mapping[str, tuple[str, ProductDetails]]) -> None:
        """Write products. ``moved`` has the old group and the new details of each, by its id."""


class ProductRepository:
    """Reads and writes products' details.

    ``StatisticsReader`` can read a product's statistics and its details by one Query. ``groups``
    writes the products with a group. With None, a group is only a detail of a product.
    """

    def __init__(self, table: Table, groups: Groups | None = None) -> None:
        self._table = table
        self._groups = groups
        executor = Executor(table.query, PRODUCT_DETAILS.indexes)
        self._titles = PageReader(executor, decode_titled, descending=False)

    async def details(self, product_ids: Collection[str]) -> dict[str, ProductDetails]:
        """Return the stored details of these products, by id.

        The method sends one request per 100 products.
        """
        items = await self._table.get_many([details_key(one) for one in set(product_ids)])
        return details_in(items)

    async def search(self, title: str, cut: Slice) -> Page[Product]:
        """Return one page of the products with titles that begin with ``title``, sorted by title.

        The case of letters does not matter. The index is global, so the page is eventually
        consistent.
        """
        start = fold_prefix(title)
        begins = Range(start, start + LAST_CHARACTER)
        return await self._titles.read(query_of({"initial": frozenset({start[:1]})}, begins), cut)

    async def update(self, product_id: str, changes: Mapping[str, str]) -> ProductDetails:
        """Create or change a product's details, and return the new details.

        Raises ConflictError if other requests keep changing them. Raises AlreadyExistsError if the
        item with their key cannot be decoded, because another program has stored it.
        """

        async def attempt() -> ProductDetails:
            key = details_key(product_id)
            item = await self._table.get(key)
            try:
                held = ProductDetails() if item is None else PRODUCT_DETAILS.decode(item)[1]
            except UNREADABLE:
                raise AlreadyExistsError(
                    f"Another program has stored the item {key['PK']['S']}, {key['SK']['S']} in "
                    "the table: move this item before you set the product's title, picture or URL."
                ) from None
            details = replace(held, **changes)
            new = PRODUCT_DETAILS.encode((product_id, details))
            await self._table.write([replacement(item, new)])
            return details

        return await retry_on_change(attempt, "this product")

    async def put_many(self, details: Mapping[str, ProductDetails]) -> Outcome:
        """Write the details of products over the stored ones.

        If the new details have the ``group`` None, the product keeps its group. Raises the errors
        of ``Groups.put_many``. Some of the products may have been written before the error.
        """
        outcome = NOTHING
        for batch in batched(list(details.items()), _ITEMS_AT_ONCE):
            held = await self._table.get_many([details_key(one) for one, _ in batch])
            before, stored = details_in(held), {item["PK"]["S"]: contents(item) for item in held}
            alone: list[Item] = []
            moved: dict[str, tuple[str, ProductDetails]] = {}
            for product_id, given in batch:
                old = before.get(product_id, ProductDetails()).group or ""
                new = replace(given, group=old if given.group is None else given.group)
                item = PRODUCT_DETAILS.encode((product_id, new))
                written = compared(stored.get(item["PK"]["S"]), item)
                outcome = outcome.plus(written)
                if self._groups is not None and (new.group or old):
                    moved[product_id] = old, new
                elif written != UNCHANGED:
                    alone.append(item)
            await self._table.put_many(alone)
            if self._groups is not None:
                await self._groups.put_many(moved)
        return outcome
