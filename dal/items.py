"""The codec between comments and the items that store them, in DynamoDB's AttributeValue maps.

An item keeps its keys, ``rating`` (N), ``language`` (S) and one packed ``data`` (S): a JSON object
of title, text and username, legible in the console and small to read. Index rows carry the same
three attributes beside their keys, so both decode alike.
"""

from typing import Any

import orjson

from dal.indexes import COMMENT_INDEXES
from dal.keys import INSTANT_LENGTH, escape, format_instant, parse_instant, unescape
from dal.model import Comment

Item = dict[str, Any]
"""Attribute name to AttributeValue: ``{"PK": {"S": "COMMENT#1"}, "rating": {"N": "5"}}``."""

COUNTED = "counted"
"""The attribute of a comment (N) that says which rebuild of the statistics has counted it."""

_COMMENT = "COMMENT#"
_PRODUCT = "PRODUCT#"
_NO_COMMENT = (AttributeError, KeyError, StopIteration, TypeError, ValueError)
"""What decoding raises of an item that another program wrote under a comment's key."""


def comment_key(comment_id: str) -> Item:
    """Return the primary key of a comment."""
    key = {"S": _COMMENT + escape(comment_id)}
    return {"PK": key, "SK": key}


def comment_position(comment: Comment) -> str:
    """Return where a comment stands among its product's: ``<createdAt>#<id>``."""
    return f"{format_instant(comment.created_at)}#{escape(comment.comment_id)}"


def encode_comment(comment: Comment) -> Item:
    """Return the whole item of a comment, with the keys of every index it appears in."""
    values = {
        "product": comment.product_id,
        "language": comment.language,
        "rating": str(comment.rating),
    }
    item = comment_key(comment.comment_id)
    for index in COMMENT_INDEXES:
        item |= index.keys_of(values, comment_position(comment))
    return {
        **item,
        "rating": {"N": str(comment.rating)},
        "language": {"S": comment.language},
        "data": {"S": _pack(comment)},
    }


def decode_comment(item: Item) -> Comment:
    """Return the comment of a table item or of a row of any comment index."""
    data = orjson.loads(item["data"]["S"])
    updated_at = data.get("updatedAt")
    return Comment(
        comment_id=unescape(item["PK"]["S"][len(_COMMENT) :]),
        product_id=_product_of(item),
        username=data["username"],
        rating=int(item["rating"]["N"]),
        language=item["language"]["S"],
        title=data["title"],
        text=data["text"],
        created_at=parse_instant(item["GSISK"]["S"][:INSTANT_LENGTH]),
        updated_at=parse_instant(updated_at) if updated_at else None,
        verified_purchase=data.get("verifiedPurchase", False),
    )


def comment_in(item: Item | None) -> Comment | None:
    """Return the comment of a table item, if it is one that can be shown: others do not count."""
    if item is None or not is_comment(item):
        return None
    try:
        return decode_comment(item)
    except _NO_COMMENT:
        return None


def is_comment(key: Item) -> bool:
    """Return whether a key, or an item, is a comment's."""
    return str(key["PK"].get("S", "")).startswith(_COMMENT)


def _product_of(item: Item) -> str:
    """Read the product from whichever index key the row carries: all start with it."""
    key = next(item[i.partition_key]["S"] for i in COMMENT_INDEXES if i.partition_key in item)
    return unescape(key[len(_PRODUCT) :].partition("/")[0])


def _pack(comment: Comment) -> str:
    data: dict[str, object] = {
        "title": comment.title,
        "text": comment.text,
        "username": comment.username,
    }
    if comment.updated_at is not None:
        data["updatedAt"] = format_instant(comment.updated_at)
    if comment.verified_purchase:
        data["verifiedPurchase"] = True
    return orjson.dumps(data).decode()
