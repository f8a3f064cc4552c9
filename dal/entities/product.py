"""A product's items: its details, and its counters as rows of leaderboards.

The details have the keys ``PRODUCT#<p>`` and ``DETAILS``, so that one Query reads them together
with the counters. ``data`` contains title, pictureUrl, url and group, if they are set. Details with
a title are also in ``GSI1``, in a partition for the title's first character. A position in this
index is the case-folded title, a tab and the product's id.

While a product has comments rated 5, the items of its counters are also rows of leaderboards, in
the index ``byLangAndRating``, which lists comments too. The position of such a row is
``<count_5>#<product>``: the number of comments rated 5, and the product's id.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import TypeAlias

from dal.model import Product, ProductDetails, ProductRank
from dal.model.titles import fold_title
from dal.table.entity import UNREADABLE, Entity, Row, packed, unpacked
from dal.table.index import TABLE_KEYS, Index
from dal.table.items import Item, primary_key
from dal.table.key_parts import COUNT_LENGTH, escape, format_count, parse_count, unescape

DETAILS = "DETAILS"
"""The sort key of the details. The details sort before the counters."""

ProductWithDetails: TypeAlias = tuple[str, ProductDetails]
"""A product's id, and its details."""

_PRODUCT = "PRODUCT#"


def details_key(product_id: str) -> Item:
    """Return the primary key of a product's details."""
    return primary_key(_PRODUCT + escape(product_id), DETAILS)


def is_details(key: Item) -> bool:
    """Return whether a key or an item belongs to a product's details."""
    return key["SK"].get("S") == DETAILS and str(key["PK"].get("S", "")).startswith(_PRODUCT)


_BY_TITLE = ("title", "id")
_ALONE = ("details",)

TITLES = Index("GSI1", "GSI1PK", "GSI1SK", "TITLE", ("initial",), _BY_TITLE, projects=("data",))


def _title_position(pair: ProductWithDetails) -> str | None:
    product_id, title = pair[0], fold_title(pair[1].title)
    # A tab sorts before each character of a folded title, so "Red" precedes "Red kettle".
    return f"{title}\t{escape(product_id)}" if title else None


def _attributes(pair: ProductWithDetails) -> Item:
    details = pair[1]
    said = {"title": details.title, "pictureUrl": details.picture_url, "url": details.url}
    said["group"] = details.group or ""
    return packed({name: text for name, text in said.items() if text})


def _decode(row: Row) -> ProductWithDetails:
    data = unpacked(row.item)
    details = ProductDetails(
        title=data.get("title", ""),
        picture_url=data.get("pictureUrl", ""),
        url=data.get("url", ""),
        group=data.get("group", ""),
    )
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
