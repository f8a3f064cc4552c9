"""Standings as items. A standing restricts a user's writes. Most users have no standing.

An item stores its values in the JSON attribute ``data`` (S). The item of a blocked user is also
in ``GSI1``, which lists all blocked users. In the index ``byAuthor``, the item is in the partition
of the moderator who blocked the user.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dal.entities.comment import BY_AUTHOR
from dal.entities.order import is_purchase
from dal.model.standings import Block, Permission
from dal.table.entity import Entity, Row, packed, unpacked
from dal.table.index import Index
from dal.table.items import Item, primary_key
from dal.table.key_parts import escape, format_instant, parse_instant, unescape

_USER = "USER#"
_STANDING = "STANDING"
_BLOCKED = "BLOCKED"
_BY_BLOCK = ("blocked_at", "username")

BLOCKED_USERS = Index(
    "GSI1", "GSI1PK", "GSI1SK", "STANDING", ("standing",), _BY_BLOCK, projects=("data",)
)
IS_BLOCKED = {"standing": frozenset({_BLOCKED})}
"""The filter that selects blocked users."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The restrictions of a user's writes: a block, or a running erasure of the user's data."""

    username: str
    block: Block | None = None
    erasing: Mapping[str, Any] | None = None
    """The progress of the erasure of the user's data; None if no erasure is running."""


def standing_key(username: str) -> Item:
    """Return the primary key of a user's standing."""
    return primary_key(_USER + escape(username), _STANDING)


def is_standing(key: Item) -> bool:
    """Return whether a key or an item belongs to a standing."""
    return str(key["PK"]["S"]).startswith(_USER) and key["SK"]["S"] == _STANDING


def standing_in(item: Item) -> Standing:
    """Return the standing that a table item stores."""
    return STANDING.decode_row(Row("", item, {}))


def permission_in(items: Iterable[Item]) -> Permission:
    """Return what a user may write, from the items of the user's standing and purchase."""
    blocked = erasing = bought = False
    for item in items:
        if is_standing(item):
            standing = standing_in(item)
            blocked, erasing = standing.block is not None, standing.erasing is not None
        else:
            bought = bought or is_purchase(item)
    return Permission(blocked=blocked, erasing=erasing, bought=bought)


def _position(standing: Standing) -> str | None:
    block = standing.block
    return None if block is None else f"{format_instant(block.at)}#{escape(block.username)}"


def _attributes(standing: Standing) -> Item:
    data: dict[str, Any] = {}
    item: Item = {}
    block = standing.block
    if block is not None:
        data["block"] = {"reason": block.reason, "at": format_instant(block.at), "by": block.by}
        if block.by is not None:
            item = {
                BY_AUTHOR.partition_key: {"S": f"DID#{escape(block.by)}"},
                BY_AUTHOR.sort_key: {"S": f"BLOCK#{_position(standing)}"},
            }
    if standing.erasing is not None:
        data["erasing"] = standing.erasing
    return item | packed(data)


def _decode(row: Row) -> Standing:
    username = unescape(row.item["PK"]["S"][len(_USER) :])
    data = unpacked(row.item)
    block = data.get("block")
    return Standing(
        username,
        block and Block(username, block["reason"], parse_instant(block["at"]), block["by"]),
        data.get("erasing"),
    )


STANDING: Entity[Standing] = Entity(
    key=lambda standing: standing_key(standing.username),
    fields={"standing": lambda _: _BLOCKED},
    positions={_BY_BLOCK: _position},
    indexes=(BLOCKED_USERS,),
    attributes=_attributes,
    decode_row=_decode,
)
