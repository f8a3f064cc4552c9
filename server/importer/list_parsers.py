"""How cells that hold a list become values: a JSON array, which in CSV is the cell's text.

Parsers as in ``field_parsers``; an entry at fault is named as ``lines.0``.
"""

import json

from dal.errors import InvalidArgumentError
from dal.model import OrderLine, UserType, rules
from server.importer.field_parsers import choice, identifier, refused, text

_LINES = [{"product_id": "42", "quantity": 1, "unit_price": "12.50 EUR"}]
_USERS = [{"username": "ana", "type": "ADMIN"}]

_user_type = choice(UserType)


def order_lines(field: str, cell: object) -> tuple[OrderLine, ...]:
    """Return the lines of an order: 1 to 90, of one currency."""
    listed = _array(field, cell, _LINES)
    return rules.order_lines(field, [_line(f"{field}.{n}", one) for n, one in enumerate(listed)])


def users(field: str, cell: object) -> dict[str, UserType]:
    """Return the type of each user of an organisation by username; MEMBER where none is given."""
    read: dict[str, UserType] = {}
    for number, one in enumerate(_array(field, cell, _USERS)):
        place = f"{field}.{number}"
        if not isinstance(one, dict):
            raise refused(place, one, "an object with username and type")
        username = identifier(f"{place}.username", one.get("username"))
        if username in read:
            raise InvalidArgumentError(place, f"{place} has the username of an earlier one.")
        read[username] = _user_type(f"{place}.type", one.get("type", UserType.MEMBER))
    return read


def _line(place: str, entry: object) -> OrderLine:
    if not isinstance(entry, dict):
        raise refused(place, entry, "an object with product_id, quantity and unit_price")
    price = text(f"{place}.unit_price", entry.get("unit_price"))
    return OrderLine(
        product_id=identifier(f"{place}.product_id", entry.get("product_id")),
        quantity=_quantity(f"{place}.quantity", entry.get("quantity")),
        unit_price=rules.money(f"{place}.unit_price", price),
    )


def _quantity(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise refused(field, value, "a whole number")
    return rules.quantity(field, value)


def _array(field: str, cell: object, example: object) -> list[object]:
    entries = cell
    if isinstance(cell, str):
        try:
            entries = json.loads(cell)
        except (RecursionError, ValueError):
            entries = None
    if not isinstance(entries, list):
        raise refused(field, cell, f"a list such as {json.dumps(example)}")
    return entries
