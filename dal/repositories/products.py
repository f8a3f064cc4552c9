"""Reads and writes the details that the shop sets for products, such as the title and the URL."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from dal.catalogue import query_of
from dal.dynamodb.concurrency import batched, in_parallel
from dal.dynamodb.errors import AlreadyExistsError, NoTransactionsError
from dal.dynamodb.retries import MAINTENANCE_DEADLINE, retry_on_change
from dal.dynamodb.table import Table
from dal.entities.product import (
    PRODUCT_ACTIONS,
    PRODUCT_DETAILS,
    ProductWithDetails,
    changes,
    decode_titled,
    details_in,
    details_key,
)
from dal.model import Product, ProductDetails
from dal.model.titles import fold_prefix
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.table.entity import UNREADABLE
from dal.table.items import Action
from dal.table.key_parts import LAST_CHARACTER
from dal.table.ranges import Range
from dal.writes.overwrite import CHANGED, NEW, NOTHING, UNCHANGED, Outcome

_ITEMS_AT_ONCE = 400
"""Number of products whose details are read together."""

_WRITTEN_AT_ONCE = 100 // PRODUCT_ACTIONS
"""Number of products that one transaction writes. DynamoDB allows 100 actions in a transaction."""

_AT_ONCE = 4
"""Maximum transactions that ``put_many`` runs in parallel."""


class Groups(Protocol):
    """Writes products with a group, and products that leave a group."""

    async def put_many(self, moved: Mapping[str, tuple[str, ProductDetails]]) -> None:
        """Write products. ``moved`` has the old group and the new details of each, by its id."""


async def write_products(table: Table, actions: Sequence[Action]) -> None:
    """Write products by one transaction, or one by one if the store has no transactions."""
    try:
        if actions:
            await table.write(actions)
    except NoTransactionsError:
        # Write the details after the words, so that a repeated write completes this one.
        for action in reversed(actions):
            await table.write([action])


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
        """Return one page of the products with titles in which ``title`` begins at a word.

        The products are sorted by their titles, from this word on. The case of letters does not
        matter. The index is global, so the page is eventually consistent.
        """
        start = fold_prefix(title)
        begins = Range(start, start + LAST_CHARACTER)
        filters = {"initial": frozenset({start[:1]}), "text": frozenset({start})}
        return await self._titles.read(query_of(filters, begins), cut)

    async def update(self, product_id: str, changed: Mapping[str, str]) -> ProductDetails:
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
                    "the table: move this item before you set the product's details."
                ) from None
            details = replace(held, **changed)
            await write_products(self._table, changes(item, (product_id, details)))
            return details

        return await retry_on_change(attempt, "this product")

    async def put_many(self, details: Mapping[str, ProductDetails]) -> Outcome:
        """Write the details of products over the stored ones.

        If the new details have the ``group`` None, the product keeps its group. Raises the errors
        of ``Groups.put_many``. Some of the products may have been written before the error.
        """
        outcome = NOTHING
        for batch in batched(list(details.items()), _ITEMS_AT_ONCE):
            outcome = outcome.plus(await self._put(batch))
        return outcome

    async def _put(self, batch: Sequence[ProductWithDetails]) -> Outcome:
        first: Outcome | None = None

        async def attempt() -> Mapping[str, tuple[str, ProductDetails]]:
            """Write the products without a group. Return the other products that change."""
            nonlocal first
            held = await self._table.get_many([details_key(one) for one, _ in batch])
            before, stored = details_in(held), {item["PK"]["S"]: item for item in held}
            outcome, alone = NOTHING, list[Sequence[Action]]()
            moved: dict[str, tuple[str, ProductDetails]] = {}
            for product_id, given in batch:
                old = before.get(product_id, ProductDetails()).group or ""
                new = replace(given, group=old if given.group is None else given.group)
                item = stored.get(details_key(product_id)["PK"]["S"])
                actions = changes(item, (product_id, new))
                outcome = outcome.plus(NEW if item is None else CHANGED if actions else UNCHANGED)
                if self._groups is not None and (new.group or old):
                    moved[product_id] = old, new
                elif actions:
                    alone.append(actions)
            first = first or outcome
            gate = asyncio.Semaphore(_AT_ONCE)

            async def write(some: Sequence[Sequence[Action]]) -> None:
                async with gate, self._table.pace.turn():
                    every = [action for actions in some for action in actions]
                    await write_products(self._table, every)

            await in_parallel([write(some) for some in batched(alone, _WRITTEN_AT_ONCE)])
            return moved

        moved = await retry_on_change(attempt, "these products", MAINTENANCE_DEADLINE)
        if self._groups is not None:
            await self._groups.put_many(moved)
        assert first is not None  # noqa: S101 - the first attempt sets it
        return first
