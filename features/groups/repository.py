"""Moves products into a product group, or out of it, in one transaction."""

from collections.abc import Iterable, Iterator, Mapping

from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.table import Table
from dal.entities.product import PRODUCT_DETAILS, details_in, details_key
from dal.model import ProductDetails, ProductGroup
from dal.table.errors import InvalidArgumentError
from dal.table.items import VERSION, Action, Item, contents, key_of, replacement, unchanged
from features.groups.entity import encode_group, group_key, groups_in

MAX_MEMBERS = 60
"""Maximum products of a group. A page reads a partition of each product."""

MOVES_AT_ONCE = 30
"""Maximum products that one transaction moves. Each product needs up to two actions: one for its
details, and one for the group that it leaves. DynamoDB allows 100 actions in a transaction."""


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
    members = {
        one: {*held[one].product_ids} if one in held else set[str]() for one in (group, *left)
    }
    for product_id, details in rows.items():
        for one, products in members.items():
            if one == details.group:
                products.add(product_id)
            else:
                products.discard(product_id)
    if len(members[group]) > MAX_MEMBERS:
        raise InvalidArgumentError(
            "group",
            f"The group {group!r} would have {len(members[group])} products; the maximum is "
            f"{MAX_MEMBERS}: split the group, then run the load again.",
        )
    new = [PRODUCT_DETAILS.encode(pair) for pair in rows.items()]
    new += [
        encode_group(ProductGroup(one, tuple(sorted(products))))
        for one, products in members.items()
        if products
    ]
    empty = [group_key(one) for one, products in members.items() if not products]
    actions = list(_changes({_name(item): item for item in items}, new, empty))
    if actions:
        try:
            await table.write(actions)
        except ConditionFailedError:
            raise ConflictError(
                "Other writes keep changing the same products: run the load again."
            ) from None


def _changes(
    old: Mapping[tuple[str, str], Item], new: Iterable[Item], gone: Iterable[Item]
) -> Iterator[Action]:
    """Yield actions that write the items ``new`` and delete the items with the keys ``gone``.

    ``old`` has the items as they were read, by key. An action fails if the stored item has changed
    since then. Items that are equal in ``old`` and ``new`` need no action.
    """
    for item in new:
        held = old.get(_name(item))
        if held is None or item != contents(held):
            yield replacement(held, item)
    for key in gone:
        held = old.get(_name(key))
        if held is not None:
            yield {"Delete": {"Key": key_of(key), **unchanged(held, ("data", VERSION))}}


def _name(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]
