"""The codec between orders and the items that store them.

An item keeps its keys, ``status`` (S, for people who look at the table) and one packed ``data`` (S)
with the lines, so that an order is read with its lines in one Query. Status and date are read from
``OrderStatusDate``, which every index of orders has.
"""

import orjson

from dal import rules
from dal.indexes import ITSELF, NEWEST, ORDER_INDEXES
from dal.items import Item
from dal.keys import escape, format_instant, parse_instant, unescape
from dal.model import Order, OrderLine, OrderStatus

_USER = "USER#"
_ORDER = "ORDER#"


def order_key(username: str, order_id: str) -> Item:
    """Return the primary key of an order."""
    return {"PK": {"S": _USER + escape(username)}, "SK": {"S": _ORDER + escape(order_id)}}


def purchase_key(username: str, product_id: str) -> Item:
    """Return the primary key of what says that a user has received a product."""
    return {"PK": {"S": _USER + escape(username)}, "SK": {"S": f"PURCHASE#{escape(product_id)}"}}


def order_position(order: Order) -> str:
    """Return where an order stands among others: ``<createdAt>#<id>``."""
    return f"{format_instant(order.created_at)}#{escape(order.order_id)}"


def encode_order(order: Order) -> Item:
    """Return the whole item of an order, with the keys of every index it appears in."""
    values = {"user": order.username, "order": order.order_id, "status": order.status.value}
    positions = {NEWEST: order_position(order), ITSELF: escape(order.order_id)}
    item = order_key(order.username, order.order_id)
    for index in ORDER_INDEXES:
        if index.holds(values):
            item |= index.keys_of(values, positions[index.order])
    return {**item, "status": {"S": order.status.value}, "data": {"S": _pack(order.lines)}}


def decode_order(item: Item) -> Order:
    """Return the order of a table item or of a row of any index of orders."""
    status, created_at, _ = item["OrderStatusDate"]["S"].split("#")
    return Order(
        order_id=unescape(item["SK"]["S"][len(_ORDER) :]),
        username=unescape(item["PK"]["S"][len(_USER) :]),
        status=OrderStatus(status),
        created_at=parse_instant(created_at),
        lines=tuple(
            OrderLine(
                line["productId"], line["quantity"], rules.money("unitPrice", line["unitPrice"])
            )
            for line in orjson.loads(item["data"]["S"])["lines"]
        ),
    )


def purchases(order: Order) -> list[Item]:
    """Return the items that a delivered order leaves, one for each product; none of another."""
    if order.status is not OrderStatus.DELIVERED:
        return []
    products = dict.fromkeys(line.product_id for line in order.lines)
    return [purchase_key(order.username, product) for product in products]


def _pack(lines: tuple[OrderLine, ...]) -> str:
    rows = [
        {
            "productId": line.product_id,
            "quantity": line.quantity,
            "unitPrice": str(line.unit_price),
        }
        for line in lines
    ]
    return orjson.dumps({"lines": rows}).decode()
