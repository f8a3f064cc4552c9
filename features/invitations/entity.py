"""Invitations as items, and the ids of the comments that links write.

An item is in the partition of its user. It stores its values in the JSON attribute ``data`` (S).
While the invitation is due, the item is also in ``GSI1``, which lists the orders whose customers
wait for a link. The index ``openOrders`` could not list it, because the index ``byDate`` has the
same sort key, and would show the invitation among the user's orders.
"""

from contextlib import suppress

import orjson

from dal.entities import idempotency
from dal.table.entity import UNREADABLE, Entity, Row, packed, unpacked
from dal.table.index import BY_DATE, QUEUE_SHARDS, Index
from dal.table.items import Item, primary_key
from dal.table.key_parts import escape, format_instant, parse_instant, unescape
from features.invitations.model import Invitation, Link

_USER = "USER#"
_INVITATION = "INVITATION#"
_TIMES = {
    "deliveredAt": "delivered_at",
    "invitedAt": "invited_at",
    "revokedAt": "revoked_at",
}

DUE = Index(
    "GSI1",
    "GSI1PK",
    "GSI1SK",
    "DUE",
    (),
    BY_DATE,
    projects=("data",),
    shards=QUEUE_SHARDS,
    covers={"invitation": frozenset({"DUE"})},
)


def invitation_key(username: str, order_id: str) -> Item:
    """Return the primary key of an invitation."""
    return primary_key(_USER + escape(username), _INVITATION + escape(order_id))


def is_invitation(key: Item) -> bool:
    """Return whether a key or an item belongs to an invitation."""
    return str(key["PK"]["S"]).startswith(_USER) and str(key["SK"]["S"]).startswith(_INVITATION)


def invitation_in(item: Item | None) -> Invitation | None:
    """Return the invitation that a table item stores; None for any other item."""
    if item is not None and is_invitation(item):
        with suppress(*UNREADABLE):
            return INVITATION.decode_row(Row("", item, {}))
    return None


def comment_key_of(link: Link, product_id: str) -> str:
    """Return the idempotency key of the comment that a link writes on a product.

    All links of an order have the same key for a product. No client can send this key, because it
    begins with a blank.
    """
    return f" {orjson.dumps([link.order_id, product_id]).decode()}"


def comment_id_of(link: Link, product_id: str) -> str:
    """Return the id of the comment that a link writes on a product."""
    return idempotency.comment_id(link.username, comment_key_of(link, product_id))


def _position(invitation: Invitation) -> str | None:
    if invitation.delivered_at is None or not invitation.is_due:
        return None
    return f"{format_instant(invitation.delivered_at)}#{escape(invitation.order_id)}"


def _attributes(invitation: Invitation) -> Item:
    values: dict[str, object] = {"products": invitation.products}
    if invitation.name is not None:
        values["name"] = invitation.name
    for stored, name in _TIMES.items():
        if (at := getattr(invitation, name)) is not None:
            values[stored] = format_instant(at)
    return packed(values)


def _decode(row: Row) -> Invitation:
    data = unpacked(row.item)
    times = {name: parse_instant(data[key]) for key, name in _TIMES.items() if key in data}
    return Invitation(
        order_id=unescape(row.item["SK"]["S"][len(_INVITATION) :]),
        username=unescape(row.item["PK"]["S"][len(_USER) :]),
        products=tuple(data["products"]),
        name=data.get("name"),
        **times,
    )


INVITATION: Entity[Invitation] = Entity(
    key=lambda invitation: invitation_key(invitation.username, invitation.order_id),
    fields={"invitation": lambda _: "DUE"},
    positions={BY_DATE: _position},
    indexes=(DUE,),
    attributes=_attributes,
    decode_row=_decode,
)
