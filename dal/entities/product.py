"""A product's items: its details, the words of its title, and its counters as rows of leaderboards.

The details have the keys ``PRODUCT#<p>`` and ``DETAILS``, so that one Query reads them together
with the counters. ``data`` contains title, pictureUrl, url, group, gtin, brand and mpn, if they are
set. Details with a title are also in ``GSI1``, in a partition for the title's first character. A
position in this index is the folded title, a tab and the product's id.

Each further key of the title (see ``dal.model.titles``) has an item ``WORD#<number>`` in the
partition of the product, with the same ``data``. Its row in ``GSI1`` is in the partition of the
key's first character. The details have the number of these items in ``words``, and one transaction
writes all of them.

While a product has comments rated 5, the items of its counters are also rows of leaderboards, in
the index ``byLangAndRating``, which lists comments too. The position of such a row is
``<count_5>#<product>``: the number of comments rated 5, and the product's id.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import fields
from typing import TypeAlias

from dal.model import Product, ProductDetails, ProductRank
from dal.model.titles import MAX_KEYS, fold_title, title_keys
from dal.table.entity import UNREADABLE, Entity, Row, packed, unpacked
from dal.table.index import TABLE_KEYS, Index
from dal.table.items import Action, Item, contents, primary_key, replacement
from dal.table.key_parts import (
    COUNT_LENGTH,
    LAST_CHARACTER,
    escape,
    format_count,
    parse_count,
    unescape,
)
from dal.table.ranges import Range

DETAILS = "DETAILS"
"""The sort key of the details. The details sort before the counters."""

ProductWithDetails: TypeAlias = tuple[str, ProductDetails]
"""A product's id, and its details."""

_PRODUCT = "PRODUCT#"


_WORD = "WORD#"
WORDS = Range(_WORD, _WORD + LAST_CHARACTER)
"""The sort keys of the other keys of a product's title."""

_WORD_KEY = re.compile(_WORD + r"[1-9]\d*")

_COUNT = "words"

_STORED = {one.name: one.name for one in fields(ProductDetails)} | {"picture_url": "pictureUrl"}
"""The name in ``data`` of each field of the details."""


def details_key(product_id: str) -> Item:
    """Return the primary key of a product's details."""
    return primary_key(_PRODUCT + escape(product_id), DETAILS)


def is_details(key: Item) -> bool:
    """Return whether a key or an item belongs to a product's details."""
    return key["SK"].get("S") == DETAILS and str(key["PK"].get("S", "")).startswith(_PRODUCT)


def is_word(key: Item) -> bool:
    """Return whether a key or an item belongs to a further key of a product's title."""
    of_product = str(key["PK"].get("S", "")).startswith(_PRODUCT)
    return of_product and _WORD_KEY.fullmatch(key["SK"].get("S", "")) is not None


_BY_TITLE = ("title", "id")
_ALONE = ("details",)

PRODUCT_ACTIONS = MAX_KEYS
"""Maximum actions that write a product: one for the details, and one for each other key."""


def _finding(item: Item) -> Collection[str]:
    """Return the texts for which a search returns this row of a product: beginnings of its key.

    A text at the beginning of several keys of a title returns the row of the key that sorts first.
    So a product occurs once in a list, and a page shows a product before it drops its other rows.
    """
    key = item["GSI1SK"]["S"].rpartition("\t")[0]
    keys = sorted(title_keys(unpacked(item).get("title", "")))
    before = "".join(keys[: bisect_left(keys, key)][-1:])
    beginnings = (key[:length] for length in range(1, len(key) + 1))
    return [one for one in beginnings if not before.startswith(one)]


TITLES = Index(
    "GSI1",
    "GSI1PK",
    "GSI1SK",
    "TITLE",
    ("initial",),
    _BY_TITLE,
    projects=("data",),
    packs={"text": _finding},
    implies={"text": ("initial",)},
)


def _position(product_id: str, key: str) -> str:
    # A tab sorts before each character of a folded title, so "Red" precedes "Red kettle".
    return f"{key}\t{escape(product_id)}"


def _title_position(pair: ProductWithDetails) -> str | None:
    product_id, title = pair[0], fold_title(pair[1].title)
    return _position(product_id, title) if title else None


def _attributes(pair: ProductWithDetails) -> Item:
    details = pair[1]
    words = len(title_keys(details.title)) - 1
    counted = {_COUNT: {"N": str(words)}} if words > 0 else {}
    said = {stored: getattr(details, name) for name, stored in _STORED.items()}
    return counted | packed({stored: text for stored, text in said.items() if text})


def _decode(row: Row) -> ProductWithDetails:
    data = unpacked(row.item)
    details = ProductDetails(**{name: data.get(stored, "") for name, stored in _STORED.items()})
    return unescape(row.item["PK"]["S"][len(_PRODUCT) :]), details


PRODUCT_DETAILS: Entity[ProductWithDetails] = Entity(
    key=lambda pair: details_key(pair[0]),
    fields={"product": lambda pair: pair[0], "initial": lambda pair: fold_title(pair[1].title)[:1]},
    positions={_ALONE: lambda _: "", _BY_TITLE: _title_position},
    indexes=(
        Index(None, *TABLE_KEYS, "PRODUCT", ("product",), _ALONE, label=DETAILS),
        TITLES,
    ),
    attributes=_attributes,
    decode_row=_decode,
)


def word_items(pair: ProductWithDetails) -> list[Item]:
    """Return the items of the keys of a product's title, except the title's beginning."""
    product_id, details = pair
    return [
        _word_key(product_id, number)
        | TITLES.keys_of({"initial": key[:1]}, _position(product_id, key))
        | {"data": _attributes(pair)["data"]}
        for number, key in enumerate(title_keys(details.title)[1:], 1)
    ]


def _word_key(product_id: str, number: int) -> Item:
    return primary_key(_PRODUCT + escape(product_id), f"{_WORD}{number}")


def product_items(details: Item) -> list[Item]:
    """Return the items that a product with this item of details must have, the details first.

    The details keep ``data``, which another version may have written. Raises UNREADABLE if another
    program has written the item.
    """
    pair = PRODUCT_DETAILS.decode(details)
    new = PRODUCT_DETAILS.encode(pair)
    own = (TITLES.partition_key, TITLES.sort_key, _COUNT)
    held = {name: value for name, value in contents(details).items() if name not in own}
    copied = {name: held[name] for name in ("data",) if name in held}
    return [
        held | {name: new[name] for name in own if name in new},
        *(word | copied for word in word_items(pair)),
    ]


def changes(held: Item | None, pair: ProductWithDetails) -> list[Action]:
    """Return the actions that write a product's details, and the words of its title.

    ``held`` is the stored item of the details; None if there was no item. The actions fail if the
    item has changed since then. Without a change, there are no actions.
    """
    new, words = PRODUCT_DETAILS.encode(pair), word_items(pair)
    if held is not None and contents(held) == new:
        return []
    old = 0 if held is None else int(held.get(_COUNT, {"N": "0"})["N"])
    gone = range(len(words) + 1, old + 1)
    return [
        replacement(held, new),
        *({"Put": {"Item": item}} for item in words),
        *({"Delete": {"Key": _word_key(pair[0], number)}} for number in gone),
    ]


def decode_titled(row: Row) -> Product:
    """Return the product of a row in the index of titles, with its details."""
    return Product(*_decode(row))


def details_in(items: Iterable[Item]) -> dict[str, ProductDetails]:
    """Return the products' details that ``items`` contain, by product id.

    Items of other kinds, and items that cannot be decoded, are omitted.
    """
    found = {}
    for item in filter(is_details, items):
        with suppress(*UNREADABLE):
            product_id, details = PRODUCT_DETAILS.decode(item)
            found[product_id] = details
    return found


_MOST_FIVES = ("count_5", "product")

LEADERS, LEADERS_BY_LANGUAGE = (
    Index(
        "byLangAndRating",
        "GSIPK",
        "GSISK",
        "LEADERS",
        partition=fields,
        order=_MOST_FIVES,
    )
    for fields in ((), ("language",))
)


def board_of(language: str | None) -> tuple[Index, dict[str, str]]:
    """Return a leaderboard's index, and the field values of its partition.

    If ``language`` is None, this is the leaderboard of all languages.
    """
    if language is None:
        return LEADERS, {}
    return LEADERS_BY_LANGUAGE, {"language": language}


def rank_position(product_id: str, fives: int) -> str:
    """Return the position on a leaderboard of a product with ``fives`` comments rated 5."""
    return f"{format_count(fives)}#{escape(product_id)}"


def decode_rank(row: Row) -> ProductRank:
    """Return the product of a leaderboard's row, with its number of comments rated 5.

    The row does not contain the product's rank.
    """
    count, product = row.position[:COUNT_LENGTH], row.position[COUNT_LENGTH + 1 :]
    return ProductRank(Product(unescape(product)), parse_count(count))
