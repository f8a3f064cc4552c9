"""Parses the cells of rows: of comments, profiles, orders, organisations, tickets and products.

``dal.kinds.field_parsers`` has the parsers that other features use, too. A list is a JSON array, or
text that contains a JSON array. In messages, ``lines.0`` is the first entry of the field ``lines``.
"""

import functools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dal.kinds.field_parsers import (
    TextParser,
    account,
    checked,
    choice,
    identifier,
    one_line,
    refused,
    text,
)
from dal.model import OrderLine, Photo, UserType, rules
from dal.model.comment_fields import Rated
from dal.table.errors import InvalidArgumentError

_WHOLE = re.compile(r"[+-]?[0-9]{1,9}(\.0*)?")
_COUNT = re.compile(r"([0-9]{1,9}|[0-9]{1,3}(,[0-9]{3}){1,2})(\.0*)?")
_BOOLEANS = dict.fromkeys(("true", "yes", "y", "t", "1"), True) | dict.fromkeys(
    ("false", "no", "n", "f", "0"), False
)


def _optional(rule: Callable[[str, str], str]) -> TextParser:
    def parse(field: str, cell: object) -> str:
        written = one_line(field, cell)
        return rule(field, written) if written else ""

    return parse


review = checked(rules.optional_text)
"""The text of a comment. It may be empty, because shops' exports contain ratings without text."""
body = checked(rules.stated_text)
reply = checked(rules.stated_reply)
email = _optional(rules.email)
name = _optional(rules.name)
address = _optional(rules.address)
incentive = _optional(rules.title)


def _code(rule: Callable[[str, str], str]) -> TextParser:
    """Return a parser of an optional text, which may consist of digits and then be a number."""
    parse = _optional(rule)

    def parse_code(field: str, cell: object) -> str:
        digits = isinstance(cell, int) and not isinstance(cell, bool)
        return parse(field, str(cell) if digits else cell)

    return parse_code


gtin = _code(rules.gtin)
trade_name = _code(rules.trade_name)

_language = functools.lru_cache(maxsize=1024)(rules.language)


def language(field: str, cell: object) -> str:
    """Return a language tag in canonical form."""
    return _language(field, text(field, cell).strip())


def rating(field: str, cell: object) -> int:
    """Return a rating. The cells ``5``, ``5.0``, ``"5"`` and ``"5.0"`` all mean 5."""
    written = str(cell).strip()
    if isinstance(cell, bool) or not _WHOLE.fullmatch(written):
        raise refused(field, cell, "a whole number from 1 to 5")
    return rules.rating(field, int(float(written)))


def votes(field: str, cell: object) -> int:
    """Return a number of votes. The cell may have commas: ``"1,234"`` is 1234."""
    written = str(cell).strip()
    if isinstance(cell, bool) or not _COUNT.fullmatch(written):
        raise refused(field, cell, "a number of votes, such as 12")
    return int(float(written.replace(",", "")))


def boolean(field: str, cell: object) -> bool:
    """Return True for ``true``, ``yes``, ``y``, ``t`` and ``1``, in upper or lower case.

    Return False for ``false``, ``no``, ``n``, ``f`` and ``0``.
    """
    value = _BOOLEANS.get(str(cell).strip().lower())
    if value is None:
        raise refused(field, cell, "true or false")
    return value


_PHOTOS = [{"url": "https://shop.example/kettle.jpg", "alt": "On my stove"}]
_SEPARATORS = " ,;|\t\r\n"
_BETWEEN_ADDRESSES = re.compile(rf"(?<![{_SEPARATORS}])[{_SEPARATORS}]++(?=https?://)")
"""Matches the separators between two addresses in one text. A separator counts only before
``https://`` or ``http://``, because an address may contain the same characters."""

_RATINGS = [{"name": "fit", "rating": 5}]
_LINES = [{"product_id": "42", "quantity": 1, "unit_price": "12.50 EUR"}]
_USERS = [{"username": "ana", "type": "ADMIN"}]

_user_type = choice(UserType)


def order_lines(field: str, cell: object) -> tuple[OrderLine, ...]:
    """Return the lines of an order. There are 1 to 90 lines, and all have the same currency."""
    lines: list[OrderLine] = []
    for place, entry in _objects(field, cell, _LINES, "product_id, quantity and unit_price"):
        price = text(f"{place}.unit_price", entry.get("unit_price"))
        quantity = entry.get("quantity")
        if isinstance(quantity, bool) or not isinstance(quantity, int):
            raise refused(f"{place}.quantity", quantity, "a whole number")
        lines.append(
            OrderLine(
                product_id=identifier(f"{place}.product_id", entry.get("product_id")),
                quantity=rules.quantity(f"{place}.quantity", quantity),
                unit_price=rules.money(f"{place}.unit_price", price),
            )
        )
    return rules.order_lines(field, lines)


def photos(field: str, cell: object) -> tuple[Photo, ...]:
    """Return the photos of a comment, at most 10. Photos that break a rule are left out.

    The cell is an array of objects, an array of addresses, or one text with addresses. An object
    has ``url`` and ``alt``. In exports from Wix, it has ``image`` instead: an address, or an object
    with ``url`` and ``altText``. Videos are ignored.
    """
    found = [one for _, one in _photos(field, cell) if isinstance(one, Photo)]
    return tuple(rules.few(field, found, rules.MAX_PHOTOS))


def invalid_photos(field: str, cell: object) -> Sequence[tuple[object, InvalidArgumentError]]:
    """Return the entries that ``photos`` leaves out, each with the rule that it breaks."""
    return [(entry, one) for entry, one in _photos(field, cell) if not isinstance(one, Photo)]


def _photos(field: str, cell: object) -> Iterator[tuple[object, Photo | InvalidArgumentError]]:
    if isinstance(cell, str) and not cell.lstrip().startswith("["):
        cell = [one for one in _BETWEEN_ADDRESSES.split(cell.strip(_SEPARATORS)) if one]
    entries = [one for one in _array(field, cell, _PHOTOS) if not _is_video(one)]
    for number, entry in enumerate(entries):
        place = f"{field}.{number}"
        image = entry.get("image", entry) if isinstance(entry, dict) else entry
        values = image if isinstance(image, dict) else {"url": image}
        try:
            url = rules.address(f"{place}.url", text(f"{place}.url", values.get("url")))
            alt = text(f"{place}.alt", values.get("alt", values.get("altText")) or "")
            yield entry, Photo(url, rules.alternative_text(f"{place}.alt", alt))
        except InvalidArgumentError as error:
            yield entry, error


def _is_video(entry: object) -> bool:
    return isinstance(entry, dict) and "video" in entry and "image" not in entry


def ratings(rule: Rated) -> Callable[[str, object], object]:
    """Return a parser of a list of ratings by name, which ``rule`` checks and converts."""

    def parse(field: str, cell: object) -> object:
        found: list[tuple[str, int]] = []
        for place, entry in _objects(field, cell, _RATINGS, "name and rating"):
            name = text(f"{place}.name", entry.get("name"))
            found.append((name, rating(f"{place}.rating", entry.get("rating"))))
        return rule(field, found)

    return parse


def users(field: str, cell: object) -> dict[str, UserType]:
    """Return the type of each user of an organisation by username. The default type is MEMBER."""
    types: dict[str, UserType] = {}
    for place, entry in _objects(field, cell, _USERS, "username and type"):
        username = account(f"{place}.username", entry.get("username"))
        if username in types:
            raise InvalidArgumentError(
                place, f"{place} repeats the username {username!r}: keep one entry for each user."
            )
        types[username] = _user_type(f"{place}.type", entry.get("type", UserType.MEMBER))
    return types


def _objects(
    field: str, cell: object, example: object, members: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a list, each with its place, such as ``lines.0``."""
    for number, entry in enumerate(_array(field, cell, example)):
        place = f"{field}.{number}"
        if not isinstance(entry, dict):
            raise refused(place, entry, f"an object with {members}")
        yield place, entry


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
