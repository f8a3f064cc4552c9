"""How the cells of an order become values; its lines are a JSON array, in CSV as text."""

import json

from dal import rules
from dal.model import OrderLine, OrderStatus
from server.load import cells

_WANTED = "a list of lines such as " + json.dumps(
    [{"product_id": "42", "quantity": 1, "unit_price": "12.50 EUR"}]
)


def status(field: str, cell: object) -> OrderStatus:
    """Return a status, in capitals or not."""
    written = cells.text(field, cell).strip().upper()
    if written not in OrderStatus.__members__:
        raise cells.refused(field, cell, f"one of {', '.join(OrderStatus)}")
    return OrderStatus(written)


def lines(field: str, cell: object) -> tuple[OrderLine, ...]:
    """Return the lines of an order: 1 to 90, of one currency."""
    listed = _parsed(field, cell) if isinstance(cell, str) else cell
    if not isinstance(listed, list):
        raise cells.refused(field, cell, _WANTED)
    return rules.order_lines(field, [_line(f"{field}.{n}", one) for n, one in enumerate(listed)])


def _parsed(field: str, written: str) -> object:
    try:
        return json.loads(written)
    except (RecursionError, ValueError):
        raise cells.refused(field, written, _WANTED) from None


def _line(place: str, cell: object) -> OrderLine:
    if not isinstance(cell, dict):
        raise cells.refused(place, cell, "an object with product_id, quantity and unit_price")
    price = cells.text(f"{place}.unit_price", cell.get("unit_price"))
    return OrderLine(
        product_id=cells.identifier(f"{place}.product_id", cell.get("product_id")),
        quantity=_quantity(f"{place}.quantity", cell.get("quantity")),
        unit_price=rules.money(f"{place}.unit_price", price),
    )


def _quantity(field: str, cell: object) -> int:
    if isinstance(cell, bool) or not isinstance(cell, int):
        raise cells.refused(field, cell, "a whole number")
    return rules.quantity(field, cell)
