"""Comments as items: their keys, indexes and codec.

An item has its keys, ``product`` (S), ``createdAt`` (S), ``rating`` (N), ``language`` (S), and the
JSON attribute ``data`` (S). ``data`` contains all other values of the comment, such as title, text,
username, photos and the shop's reply. The indexes that list a product's comments project
``rating``, ``language`` and ``data``. They need not project ``product`` and ``createdAt``, because
their keys contain the product and the time.
"""

from functools import partial
from typing import Any

from dal.model import Comment, Photo, Reply
from dal.model.rules import MAX_PHOTOS
from dal.table.entity import Entity, Row, packed, unpacked
from dal.table.index import BY_DATE, BY_HELPFUL, EXPIRES, Index
from dal.table.items import VERSION, Item, primary_key
from dal.table.key_parts import INSTANT_LENGTH, escape, format_instant, parse_instant, unescape

_SHOWN = ("rating", "language", "data")


def _flag(value: object) -> str:
    return "true" if value else "false"


def _voted(data: Any) -> bool:
    return "helpful" in data or "helpfulBefore" in data


_PACKS = {
    "verified": lambda row: _flag(unpacked(row).get("verifiedPurchase")),
    "voted": lambda row: _flag(_voted(unpacked(row))),
    "hasPhotos": lambda row: _flag(unpacked(row).get("photos")),
}
_of_product = partial(
    Index,
    entity="PRODUCT",
    order=BY_DATE,
    projects=_SHOWN,
    sort_key="GSISK",
    packs=_PACKS,
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

WITH_PHOTOS = _of_product(
    "withPhotos",
    "GSI7PK",
    partition=("product", "hasPhotos"),
    covers={"hasPhotos": frozenset({"true"})},
)

HELPFUL = Index(
    "byHelpful",
    "GSI6PK",
    "GSI6SK",
    "PRODUCT",
    ("product",),
    BY_HELPFUL,
    projects=_SHOWN,
    covers={"voted": frozenset({"true"})},
    packs=_PACKS,
)
"""A product's comments with at least one helpful vote, in the order of the votes."""

BY_AUTHOR = Index(
    "byAuthor", "GSI5PK", "GSISK", "AUTHOR", ("author",), BY_DATE, projects=(*_SHOWN, "product")
)

COUNTED = "counted"
"""The attribute (N) with the number of the latest rebuild of the counters that has counted the
comment."""

FOLDED = "folded"
"""The attribute (BOOL) of a comment whose last write changed only its number of helpful votes. The
EventBridge pipe (see ``deploy``) publishes no events for these writes. Every other write removes
the attribute."""

KEYED = "keyed"
"""The attribute (S) of a comment that was added with an idempotency key: the time until which the
key is kept, and a digest of the comment's first values (see ``dal.entities.idempotency``). The
comment's tombstone, the item that remains after the comment is deleted, keeps this attribute."""

STATE = "state"
"""The attribute (S) with the state of an unpublished comment. Published comments do not have it."""

_COUNT_DIGITS = 12
"""A position by votes begins with the number of votes in this many digits, followed by ``#``. A
position by date never has ``#`` at this place, so the two kinds of positions can be
distinguished."""

_COMMENT = "COMMENT#"
_NO_COMMENT = (AttributeError, KeyError, TypeError, ValueError)
"""Errors of decoding a comment's item that another program wrote."""


def comment_key(comment_id: str) -> Item:
    """Return the primary key of a comment."""
    return primary_key(_COMMENT + escape(comment_id))


def comment_position(comment: Comment) -> str:
    """Return a comment's position in the lists of its product: ``<createdAt>#<id>``."""
    return f"{format_instant(comment.created_at)}#{escape(comment.comment_id)}"


def helpful_position(comment: Comment) -> str:
    """Return the position of a comment in the order of helpful votes.

    The position is ``<votes, 12 digits>#<createdAt>#<id>``.
    """
    return f"{comment.helpful_count:0{_COUNT_DIGITS}}#{comment_position(comment)}"


def comment_in(item: Item | None) -> Comment | None:
    """Return the published comment that a table item stores; None for all other items.

    The result is also None for an unpublished comment, for the tombstone of a deleted comment, and
    for an item that cannot be decoded. Reads by id and the counters both use this function, so a
    comment that cannot be decoded is neither shown nor counted.
    """
    if item is None or STATE in item or not is_comment(item):
        return None
    try:
        return COMMENT.decode(item)
    except _NO_COMMENT:
        return None


def is_comment(key: Item) -> bool:
    """Return whether a key belongs to a published or unpublished comment, or to a tombstone."""
    return str(key["PK"].get("S", "")).startswith(_COMMENT)


def is_tombstone(item: Item) -> bool:
    """Return whether an item with a comment's key is the tombstone of a deleted comment."""
    return is_comment(item) and EXPIRES in item


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
    if comment.votes:
        data["helpful"] = comment.votes
    if comment.votes_before:
        data["helpfulBefore"] = comment.votes_before
    if comment.photos:
        data["photos"] = [{"url": one.url, "alt": one.alt} for one in comment.photos]
    rating, language = {"N": str(comment.rating)}, {"S": comment.language}
    known = {
        "product": {"S": comment.product_id},
        "createdAt": {"S": format_instant(comment.created_at)},
    }
    return known | {"rating": rating, "language": language, **packed(data)}


def _decode(row: Row) -> Comment:
    position, item, values = row
    if position[_COUNT_DIGITS : _COUNT_DIGITS + 1] == "#":
        position = position[_COUNT_DIGITS + 1 :]
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
        data.get("helpful", 0),
        data.get("helpfulBefore", 0),
        tuple([Photo(one["url"], one["alt"]) for one in data["photos"][:MAX_PHOTOS]])
        if "photos" in data
        else (),
    )


COMMENT: Entity[Comment] = Entity(
    key=lambda comment: comment_key(comment.comment_id),
    fields={
        "product": lambda comment: comment.product_id,
        "language": lambda comment: comment.language,
        "rating": lambda comment: str(comment.rating),
        "author": lambda comment: comment.username,
        "verified": lambda comment: _flag(comment.verified_purchase),
        "voted": lambda comment: _flag(comment.helpful_count),
        "hasPhotos": lambda comment: _flag(comment.photos),
    },
    positions={BY_DATE: comment_position, BY_HELPFUL: helpful_position},
    indexes=(
        ALL,
        BY_LANGUAGE,
        BY_RATING,
        BY_LANGUAGE_AND_RATING,
        BY_VERIFIED,
        WITH_PHOTOS,
        HELPFUL,
        BY_AUTHOR,
    ),
    attributes=_attributes,
    decode_row=_decode,
    marks=(COUNTED, FOLDED, KEYED, VERSION),
    never=(STATE, "GSI1PK", "GSI1SK"),  # submissions have these, published comments do not
)
