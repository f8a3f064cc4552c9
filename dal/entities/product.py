"""A product's items: its details, and its counters as the leaderboards show them.

The details' keys are ``PRODUCT#<p>`` and ``DETAILS``, so that one Query reads them with the
counters. ``data`` has title, pictureUrl and url where they are set.

The counters of a product with comments rated 5 have keys of ``byLangAndRating``, which they share
with comments. A position on a leaderboard is ``<count_5>#<product>``.
"""

from collections.abc import Iterable
from contextlib import suppress

from dal.entities.entity import UNREADABLE, Row, packed, unpacked
from dal.model import Product, ProductDetails, ProductRank
from dal.model.key_parts import COUNT_LENGTH, escape, format_count, parse_count, unescape
from dal.table.index import Index
from dal.table.items import Item, primary_key

DETAILS = "DETAILS"
"""The sort key, which precedes those of counters."""

_PRODUCT = "PRODUCT#"


def details_key(product_id: str) -> Item:
    """Return the primary key of a product's details."""
    return primary_key(_PRODUCT + escape(product_id), DETAILS)


def is_details(key: Item) -> bool:
    """Return whether a key or an item belongs to a product's details."""
    return key["SK"].get("S") == DETAILS and str(key["PK"].get("S", "")).startswith(_PRODUCT)


def encode_details(product_id: str, details: ProductDetails) -> Item:
    """Return the whole item of a product's details."""
    said = {"title": details.title, "pictureUrl": details.picture_url, "url": details.url}
    return details_key(product_id) | packed({name: text for name, text in said.items() if text})


def decode_details(item: Item) -> tuple[str, ProductDetails]:
    """Return the details of a table item, after the product's id."""
    data = unpacked(item)
    details = ProductDetails(
        title=data.get("title", ""), picture_url=data.get("pictureUrl", ""), url=data.get("url", "")
    )
    return unescape(item["PK"]["S"][len(_PRODUCT) :]), details


def details_in(items: Iterable[Item]) -> dict[str, ProductDetails]:
    """Return the details among some items, by product, without those that cannot be decoded."""
    found = {}
    for item in filter(is_details, items):
        with suppress(*UNREADABLE):
            product_id, details = decode_details(item)
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
    """Return a leaderboard's index and partition values; ``language`` None is all languages."""
    if language is None:
        return LEADERS, {}
    return LEADERS_BY_LANGUAGE, {"language": language}


def rank_position(product_id: str, fives: int) -> str:
    """Return the position of a product on a leaderboard."""
    return f"{format_count(fives)}#{escape(product_id)}"


def decode_rank(row: Row) -> ProductRank:
    """Return the product and the count of a leaderboard's row, without the rank."""
    count, product = row.position[:COUNT_LENGTH], row.position[COUNT_LENGTH + 1 :]
    return ProductRank(Product(unescape(product)), parse_count(count))
