"""Groups as items. The products of a group are variants of one product, such as its colours.

The item has the PK ``GROUP#<id>`` and the SK ``MEMBERS``. Its attribute ``data`` contains the ids
of the group's products. The details of each of these products contain the group's id.
"""

from collections.abc import Iterable
from contextlib import suppress

from dal.table.entity import UNREADABLE, packed, unpacked
from dal.table.items import Item, primary_key
from dal.table.key_parts import escape, unescape
from features.groups.model import ProductGroup

_GROUP = "GROUP#"


def is_group(item: Item) -> bool:
    """Return whether an item belongs to a group."""
    return str(item["PK"]["S"]).startswith(_GROUP)


def group_key(group_id: str) -> Item:
    """Return the primary key of a group."""
    return primary_key(_GROUP + escape(group_id), "MEMBERS")


def encode_group(group: ProductGroup) -> Item:
    """Return the item of a group."""
    return group_key(group.group_id) | packed({"products": group.product_ids})


def groups_in(items: Iterable[Item]) -> dict[str, ProductGroup]:
    """Return the groups that ``items`` store, by id. Items that cannot be decoded are omitted."""
    found = {}
    for item in items:
        with suppress(*UNREADABLE):
            group_id = unescape(item["PK"]["S"][len(_GROUP) :])
            products = tuple(map(str, unpacked(item)["products"]))
            found[group_id] = ProductGroup(group_id, products)
    return found
