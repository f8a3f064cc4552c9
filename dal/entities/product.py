"""What a shop says of a product: an item beside its counters, read in one Query with them.

Its keys are ``PRODUCT#<p>`` and ``DETAILS``; ``data`` has title, pictureUrl and url where they are
set.
"""

from collections.abc import Iterable
from contextlib import suppress

from dal.entities.entity import UNREADABLE, packed, unpacked
from dal.model import ProductDetails
from dal.model.key_parts import escape, unescape
from dal.table.items import Item, primary_key

DETAILS = "DETAILS"
"""The sort key; it stands before those of counters."""

_PRODUCT = "PRODUCT#"


def details_key(product_id: str) -> Item:
    """Return the primary key of a product's details."""
    return primary_key(_PRODUCT + escape(product_id), DETAILS)


def is_details(key: Item) -> bool:
    """Return whether a key, or an item, is of a product's details."""
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
    """Return the details among some items, by product.

    What another program wrote in their place cannot be read, and is none.
    """
    found = {}
    for item in filter(is_details, items):
        with suppress(*UNREADABLE):
            product_id, details = decode_details(item)
            found[product_id] = details
    return found
