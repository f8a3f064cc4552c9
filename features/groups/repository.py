"""Reads groups, and moves products into a group, or out of it, in one transaction."""

import asyncio
from collections.abc import Collection, Mapping
from functools import partial

from dal.dynamodb.concurrency import batched, in_parallel
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.retries import MAINTENANCE_DEADLINE, retry_on_conflict
from dal.dynamodb.table import Table
from dal.entities.product import PRODUCT_ACTIONS, changes, details_in, details_key
from dal.model import ProductDetails
from dal.table.errors import InvalidArgumentError
from dal.table.items import VERSION, Action, contents, key_of, key_pair, replacement, unchanged
from features.groups.entity import encode_group, group_key, groups_in
from features.groups.model import ProductGroup

MAX_MEMBERS = 60
"""Maximum products of a group. A page reads a partition of each product."""

MOVES_AT_ONCE = 99 // (PRODUCT_ACTIONS + 1)
"""Maximum products that one transaction moves. Each product may need one more action than
other products, for the group that it leaves. One action is for the group that all join. DynamoDB
allows 100 actions in a transaction."""

_AT_ONCE = 4
"""Maximum transactions that one call of ``put_many`` runs in parallel."""


class GroupRepository:
    """Reads groups, and writes products that join or leave groups."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def get_many(self, group_ids: Collection[str]) -> dict[str, ProductGroup]:
        """Return the existing groups among ``group_ids``, by id, in one request per 100 ids."""
        items = await self._table.get_many([group_key(one) for one in set(group_ids)])
        return groups_in(items)

    async def members(self, group_id: str) -> Collection[str]:
        """Return the ids of a group's products. The read is eventually consistent."""
        items = await self._table.get_many([group_key(group_id)], consistent=False)
        return [one for group in groups_in(items).values() for one in group.product_ids]

    async def put_many(self, moved: Mapping[str, tuple[str, ProductDetails]]) -> None:
        """Write the details of products, and their groups, in transactions.

        ``moved`` contains the old group and the new details of each product, by its id. Raises the
        errors of ``move_products``. Some of the products may have been written before the error.
        """
        gate = asyncio.Semaphore(_AT_ONCE)
        leaving: dict[str, dict[str, ProductDetails]] = {}
        joining: dict[str, dict[str, ProductDetails]] = {}
        for product_id, (old, new) in moved.items():
            moves = joining if new.group else leaving
            moves.setdefault(new.group or old, {})[product_id] = new

        async def move(group: str, rows: Mapping[str, ProductDetails]) -> None:
            async with gate, self._table.pace.turn():
                write = partial(move_products, self._table, group, rows)
                await retry_on_conflict(write, MAINTENANCE_DEADLINE)

        # The products that leave groups are written first, to make room for those that join.
        for moves in (leaving, joining):
            await in_parallel(
                [
                    move(group, dict(rows))
                    for group, products in moves.items()
                    for rows in batched(list(products.items()), MOVES_AT_ONCE)
                ]
            )


async def move_products(table: Table, group: str, rows: Mapping[str, ProductDetails]) -> None:
    """Write the details of products that join or leave ``group``, and every group that changes.

    ``rows`` contains the new details by product id. ``group`` is the group that the products join.
    If the products join no group, ``group`` is the group that they leave. The item of a group that
    loses all members is deleted. Raises ConflictError if other requests change the same items
    meanwhile, and InvalidArgumentError if the group would have more than MAX_MEMBERS products.
    """
    items = await table.get_many([group_key(group), *map(details_key, rows)])
    before = details_in(items).values()
    left = {one.group for one in before if one.group} - {group}
    items += await table.get_many([group_key(one) for one in left])
    held = groups_in(items)
    members = {}
    for one in (group, *left):
        there = held[one].product_ids if one in held else ()
        joining = {product_id for product_id, details in rows.items() if details.group == one}
        members[one] = {*there} - rows.keys() | joining
    if len(members[group]) > MAX_MEMBERS:
        raise InvalidArgumentError(
            "group",
            f"The group {group!r} would have {len(members[group])} products; the maximum is "
            f"{MAX_MEMBERS}: split the group, then run the load again.",
        )
    stored = {key_pair(item): item for item in items}
    actions: list[Action] = []
    for one, products in members.items():
        item = encode_group(ProductGroup(one, tuple(sorted(products))))
        old = stored.get(key_pair(item))
        if not products and old is not None:
            actions.append({"Delete": {"Key": key_of(item), **unchanged(old, ("data", VERSION))}})
        elif products and (old is None or item != contents(old)):
            actions.append(replacement(old, item))
    for pair in rows.items():
        actions += changes(stored.get(key_pair(details_key(pair[0]))), pair)
    if actions:
        try:
            await table.write(actions)
        except ConditionFailedError:
            raise ConflictError(
                "Other writes keep changing the same products: run the load again."
            ) from None
