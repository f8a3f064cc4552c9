"""Orders as items.

An item has its keys, ``status`` (S), and the JSON attribute ``data`` (S). ``status`` is for other
programs that read the table. ``data`` contains the lines, so that one Query reads an order with its
lines. ``data`` also has the customer's name if it differs from the username. The key attribute
``OrderStatusDate`` contains status and date. Each index projects this attribute, except the index
in which it is the sort key.
"""

from functools import partial
from typing import Any

from dal.model import Order, OrderLine, OrderStatus, rules
from dal.table.entity import Entity, Row, packed, unpacked
from dal.table.index import BY_DATE, BY_ID, QUEUE_SHARDS, TABLE, Index, QueryRequest
from dal.table.items import Item, primary_key
from dal.table.key_parts import LAST_CHARACTER, escape, format_instant, parse_instant, unescape
from dal.table.ranges import Range

_USER = "USER#"
_ORDER = "ORDER#"
_PURCHASE = "PURCHASE#"

_SHOWN = ("OrderStatusDate", "data")
_of_user = partial(
    Index, partition_key="PK", entity="USER", partition=("user",), order=BY_DATE, local=True
)

ORDERS_BY_DATE = _of_user("byDate", sort_key="OrderDate", projects=_SHOWN)
ORDERS_BY_STATUS = _of_user(
    "byStatusDate", sort_key="OrderStatusDate", prefix=("status",), projects=("data",)
)
ORDER_BY_ID = Index(
    "GSI1", "GSI1PK", "GSI1SK", "ORDER", ("order",), BY_ID, (), ("status", *_SHOWN), _ORDER
)
OPEN_ORDERS = Index(
    "openOrders",
    "PlacedId",
    "OrderDate",
    OrderStatus.PLACED,
    (),
    BY_DATE,
    projects=_SHOWN,
    shards=QUEUE_SHARDS,
    covers={"status": frozenset({OrderStatus.PLACED})},
)


def order_key(username: str, order_id: str) -> Item:
    """Return the primary key of an order."""
    return primary_key(_USER + escape(username), _ORDER + escape(order_id))


def purchase_key(username: str, product_id: str) -> Item:
    """Return the primary key of the item which proves that a user received a product."""
    return primary_key(_USER + escape(username), _PURCHASE + escape(product_id))


def is_purchase(key: Item) -> bool:
    """Return whether a key or an item is a proof that a user received a product."""
    return str(key["PK"]["S"]).startswith(_USER) and str(key["SK"]["S"]).startswith(_PURCHASE)


def purchases_of(username: str) -> QueryRequest:
    """Return the request for the proofs of all products that a user received."""
    keys = Range(_PURCHASE, _PURCHASE + LAST_CHARACTER)
    return QueryRequest(TABLE, _USER + escape(username), keys)


def order_position(order: Order) -> str:
    """Return the position of an order in lists: ``<createdAt>#<id>``."""
    return f"{format_instant(order.created_at)}#{escape(order.order_id)}"


def is_order(key: Item) -> bool:
    """Return whether a key or an item belongs to an order."""
    return str(key["PK"]["S"]).startswith(_USER) and str(key["SK"]["S"]).startswith(_ORDER)


def purchases(order: Order) -> list[Item]:
    """Return the items that prove the purchase of each product; none before the delivery."""
    if order.status is not OrderStatus.DELIVERED:
        return []
    products = dict.fromkeys(line.product_id for line in order.lines)
    return [purchase_key(order.username, product) for product in products]


def _attributes(order: Order) -> Item:
    lines = [
        {"productId": one.product_id, "quantity": one.quantity, "unitPrice": str(one.unit_price)}
        for one in order.lines
    ]
    named = {} if order.name is None else {"name": order.name}
    return {"status": {"S": order.status.value}, **packed({"lines": lines, **named})}


def _decode(row: Row) -> Order:
    item = row.item
    if "OrderStatusDate" in item:
        status, created_at, _ = item["OrderStatusDate"]["S"].split("#")
    else:  # a row of byStatusDate: its position begins with the date
        status, created_at = row.values["status"], row.position.partition("#")[0]
    data = unpacked(item)
    return Order(
        order_id=unescape(item["SK"]["S"][len(_ORDER) :]),
        username=unescape(item["PK"]["S"][len(_USER) :]),
        status=OrderStatus(status),
        created_at=parse_instant(created_at),
        lines=tuple(map(_line, data["lines"])),
        name=data.get("name"),
    )


def _line(line: dict[str, Any]) -> OrderLine:
    price = rules.money("unitPrice", line["unitPrice"])
    return OrderLine(line["productId"], line["quantity"], price)


ORDER: Entity[Order] = Entity(
    key=lambda order: order_key(order.username, order.order_id),
    fields={
        "user": lambda order: order.username,
        "order": lambda order: order.order_id,
        "status": lambda order: order.status.value,
    },
    positions={BY_DATE: order_position, BY_ID: lambda order: escape(order.order_id)},
    indexes=(ORDERS_BY_DATE, ORDERS_BY_STATUS, ORDER_BY_ID, OPEN_ORDERS),
    attributes=_attributes,
    decode_row=_decode,
)
