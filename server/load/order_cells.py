"""How the cells of an order become values; its lines are a JSON array, in CSV as text."""

from dal import rules
from dal.model import OrderLine, OrderStatus
from server.load import cells

_EXAMPLE = [{"product_id": "42", "quantity": 1, "unit_price": "12.50 EUR"}]

status = cells.choice(OrderStatus)


def lines(field: str, cell: object) -> tuple[OrderLine, ...]:
    """Return the lines of an order: 1 to 90, of one currency."""
    listed = cells.array(field, cell, _EXAMPLE)
    return rules.order_lines(field, [_line(f"{field}.{n}", one) for n, one in enumerate(listed)])


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
