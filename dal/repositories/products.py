"""Reads and writes the details that the shop sets for products: title, picture, URL and group."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from dal.catalogue import query_of
from dal.dynamodb.concurrency import batched, in_parallel
from dal.dynamodb.errors import AlreadyExistsError
from dal.dynamodb.retries import MAINTENANCE_DEADLINE, retry_on_change, retry_on_conflict
from dal.dynamodb.table import Table
from dal.entities.product import PRODUCT_DETAILS, decode_titled, details_in, details_key
from dal.model import Product, ProductDetails, ProductGroup
from dal.model.titles import fold_prefix
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.table.entity import UNREADABLE
from dal.table.items import Item, contents, replacement
from dal.table.key_parts import LAST_CHARACTER
from dal.table.ranges import Range
from dal.writes.overwrite import NOTHING, UNCHANGED, Outcome, compared
from features.groups.entity import group_key, groups_in
from features.groups.repository import MOVES_AT_ONCE, move_products

_ITEMS_AT_ONCE = 400
"""Number of products whose details are read together."""

_AT_ONCE = 4
"""Maximum transactions that one call of ``put_many`` runs in parallel."""


class ProductRepository:
    """Reads and writes products' details, and reads groups.

    ``StatisticsReader`` can read a product's statistics and its details by one Query.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
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

    async def groups(self, group_ids: Collection[str]) -> dict[str, ProductGroup]:
        """Return the existing groups among ``group_ids``, by id, in one request per 100 ids."""
        items = await self._table.get_many([group_key(one) for one in set(group_ids)])
        return groups_in(items)

    async def put_many(self, details: Mapping[str, ProductDetails]) -> Outcome:
        """Write the details of products over the stored ones.

        If the new details have the ``group`` None, the product keeps its group. Products with a
        group, and products that leave a group, are written in transactions together with the
        groups. Raises the errors of ``move_products``. Some of the products may have been written
        before the error.
        """
        gate, outcome = asyncio.Semaphore(_AT_ONCE), NOTHING

        async def move(group: str, rows: Mapping[str, ProductDetails]) -> None:
            async with gate, self._table.pace.turn():
                write = partial(move_products, self._table, group, rows)
                await retry_on_conflict(write, MAINTENANCE_DEADLINE)

        for batch in batched(list(details.items()), _ITEMS_AT_ONCE):
            held = await self._table.get_many([details_key(one) for one, _ in batch])
            before, stored = details_in(held), {item["PK"]["S"]: contents(item) for item in held}
            alone: list[Item] = []
            leaving: dict[str, dict[str, ProductDetails]] = {}
            joining: dict[str, dict[str, ProductDetails]] = {}
            for product_id, given in batch:
                old = before.get(product_id, ProductDetails()).group or ""
                new = replace(given, group=old if given.group is None else given.group)
                item = PRODUCT_DETAILS.encode((product_id, new))
                written = compared(stored.get(item["PK"]["S"]), item)
                outcome = outcome.plus(written)
                if new.group:
                    joining.setdefault(new.group, {})[product_id] = new
                elif old:
                    leaving.setdefault(old, {})[product_id] = new
                elif written != UNCHANGED:
                    alone.append(item)
            await self._table.put_many(alone)
            # The products that leave groups are written first, to make room for those that join.
            for moves in (leaving, joining):
                await in_parallel(
                    [
                        move(group, dict(rows))
                        for group, moved in moves.items()
                        for rows in batched(list(moved.items()), MOVES_AT_ONCE)
                    ]
                )
        return outcome
