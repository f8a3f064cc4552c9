"""Comments as items: keys, indexes, codec.

An item has its keys, ``product`` (S), ``createdAt`` (S), ``rating`` (N), ``language`` (S) and one
packed ``data`` (S). ``data`` contains title, text, username, the author's name if it differs
from the username, and the shop's reply. The indexes that list a product's comments project
``rating``, ``language`` and ``data``. Their keys contain the product and the time.
"""

from functools import partial
from typing import Any

from dal.entities.entity import Entity, Row, packed, unpacked
from dal.model import Comment, Reply
from dal.model.key_parts import INSTANT_LENGTH, escape, format_instant, parse_instant, unescape
from dal.table.index import BY_DATE, Index
from dal.table.items import Item, primary_key

_SHOWN = ("rating", "language", "data")


def _verified(verified: bool) -> str:  # noqa: FBT001 - of the field
    return "true" if verified else "false"


_of_product = partial(
    Index,
    entity="PRODUCT",
    order=BY_DATE,
    projects=_SHOWN,
    sort_key="GSISK",
    packs={"verified": lambda row: _verified(unpacked(row).get("verifiedPurchase", False))},
)

ALL = _of_product("all", "GSI4PK", partition=("product",))
BY_LANGUAGE = _of_product("byLang", "GSI2PK", partition=("product", "language"))
BY_RATING = _of_product("byRating", "GSI3PK", partition=("product", "rating"))
BY_LANGUAGE_AND_RATING = _of_product(
    "byLangAndRating", "GSIPK", partition=("product", "language", "rating")
)

BY_VERIFIED = _of_product(
    "byVerified",
    "GSI8PK",
    partition=("product", "verified"),
    covers={"verified": frozenset({"true"})},
)

BY_AUTHOR = Index(
    "byAuthor", "GSI5PK", "GSISK", "AUTHOR", ("author",), BY_DATE, projects=(*_SHOWN, "product")
)

COUNTED = "counted"
"""The attribute (N) that marks a counted comment: the number of the rebuild that counted it."""

KEYED = "keyed"
"""The attribute (S) that marks a comment added with an idempotency key, and its tombstone."""

STATE = "state"
"""The attribute (S) of an unpublished comment: its state. A published comment does not have it."""

_COMMENT = "COMMENT#"
_NO_COMMENT = (AttributeError, KeyError, TypeError, ValueError)
"""Errors of decoding an item that another program wrote under a comment's key."""


def comment_key(comment_id: str) -> Item:
    """Return the primary key of a comment."""
    return primary_key(_COMMENT + escape(comment_id))


def comment_position(comment: Comment) -> str:
    """Return the position of a comment in its product's list: ``<createdAt>#<id>``."""
    return f"{format_instant(comment.created_at)}#{escape(comment.comment_id)}"


def comment_in(item: Item | None) -> Comment | None:
    """Return the comment of a whole item; None for other items and for tombstones.

    Also None for an item that cannot be decoded. All reads of whole items use this function, so
    only comments that can be shown are counted.
    """
    if item is None or STATE in item or not is_comment(item):
        return None
    try:
        return COMMENT.decode(item)
    except _NO_COMMENT:
        return None


def is_comment(key: Item) -> bool:
    """Return whether a key or an item is under a comment's key; ``comment_in`` decodes it."""
    return str(key["PK"].get("S", "")).startswith(_COMMENT)


def is_tombstone(item: Item) -> bool:
    """Return whether an item under a comment's key is the tombstone of a deleted comment."""
    return KEYED in item and "data" not in item


def _attributes(comment: Comment) -> Item:
    data: dict[str, Any] = {
        "title": comment.title,
        "text": comment.text,
        "username": comment.username,
    }
    if comment.name is not None:
        data["name"] = comment.name
    if comment.updated_at is not None:
        data["updatedAt"] = format_instant(comment.updated_at)
    if comment.touched_at is not None:
        data["touchedAt"] = format_instant(comment.touched_at)
    if comment.verified_purchase:
        data["verifiedPurchase"] = True
    if comment.reply is not None:
        at = format_instant(comment.reply.created_at)
        data["reply"] = {"text": comment.reply.text, "at": at}
    rating, language = {"N": str(comment.rating)}, {"S": comment.language}
    known = {
        "product": {"S": comment.product_id},
        "createdAt": {"S": format_instant(comment.created_at)},
    }
    return known | {"rating": rating, "language": language, **packed(data)}


def _decode(row: Row) -> Comment:
    position, item, values = row
    data = unpacked(item)
    updated_at, touched_at, reply = data.get("updatedAt"), data.get("touchedAt"), data.get("reply")
    return Comment(
        unescape(position[INSTANT_LENGTH + 1 :]),
        values["product"] if "product" in values else item["product"]["S"],
        data["username"],
        int(item["rating"]["N"]),
        item["language"]["S"],
        data["title"],
        data["text"],
        parse_instant(position[:INSTANT_LENGTH]),
        parse_instant(updated_at) if updated_at else None,
        data.get("verifiedPurchase", False),
        data.get("name"),
        parse_instant(touched_at) if touched_at else None,
        Reply(reply["text"], parse_instant(reply["at"])) if reply else None,
    )


COMMENT: Entity[Comment] = Entity(
    key=lambda comment: comment_key(comment.comment_id),
    fields={
        "product": lambda comment: comment.product_id,
        "language": lambda comment: comment.language,
        "rating": lambda comment: str(comment.rating),
        "author": lambda comment: comment.username,
        "verified": lambda comment: _verified(comment.verified_purchase),
    },
    positions={BY_DATE: comment_position},
    indexes=(ALL, BY_LANGUAGE, BY_RATING, BY_LANGUAGE_AND_RATING, BY_VERIFIED, BY_AUTHOR),
    attributes=_attributes,
    decode_row=_decode,
    marks=(COUNTED, KEYED),
    never=(STATE, "GSI1PK", "GSI1SK"),  # those of submissions
)
