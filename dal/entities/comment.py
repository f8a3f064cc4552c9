"""Comments as items: their keys, indexes and codec.

An item has its keys, ``product`` (S), ``createdAt`` (S), ``rating`` (N), ``language`` (S), and the
JSON attribute ``data`` (S). ``data`` contains all other values of the comment, such as title, text,
username, photos and the shop's reply. The indexes that list a product's comments project
``rating``, ``language`` and ``data``. They need not project ``product`` and ``createdAt``, because
their keys contain the product and the time.

``language`` is the comment's tag, such as ``en-US``. Three fields of filters are derived from it
(see ``dal.model.languages``): the partition keys of ``byLang`` and ``byLangAndRating`` contain
``language``, here ``en``. Those of ``byLocale`` contain ``locale``, the first two subtags. ``tag``
has all ranges that find the comment as its values, and is in no key.
"""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

from orjson import loads

from dal.model import Comment
from dal.model.comment_fields import FIELDS, FILTERS, REQUIRED, CommentField, flag
from dal.model.languages import LANGUAGE_FIELDS, language_of, locale_of, ranges_of
from dal.model.text_search import finds
from dal.table.entity import Entity, Row, packed, unpacked
from dal.table.index import BY_DATE, BY_HELPFUL, EXPIRES, Index
from dal.table.items import VERSION, Item, primary_key
from dal.table.key_parts import INSTANT_LENGTH, escape, format_instant, parse_instant, unescape

_SHOWN = ("rating", "language", "data")


def _voted(row: Item) -> tuple[str]:
    data = unpacked(row)
    return (flag("helpful" in data or "helpfulBefore" in data),)


def _contains(row: Item, search: str) -> bool:
    data = unpacked(row)
    return finds(search, data["title"], data["text"])


def _unpack(one: CommentField) -> Callable[[Item], tuple[str]]:
    def value(row: Item) -> tuple[str]:
        stored = unpacked(row).get(one.stored)
        return (one.value(one.default if stored is None else stored),)

    return value


_PACKS = {
    "voted": _voted,
    "language": lambda row: ranges_of(row["language"]["S"])[:1],
    "locale": lambda row: ranges_of(row["language"]["S"])[1:2],
    "tag": lambda row: ranges_of(row["language"]["S"]),
    **{name: _unpack(one) for name, one in FILTERS.items() if one.stored},
}
BOOLEANS = _PACKS.keys() - set(LANGUAGE_FIELDS)
"""The fields with the values ``true`` and ``false``."""

SEARCHED = "words"
"""The field of the search for words in title and text."""

_SEARCHES = {SEARCHED: _contains}
_IMPLIES = {"tag": ("language", "locale"), "locale": ("language",)}
_of_product = partial(
    Index,
    entity="PRODUCT",
    order=BY_DATE,
    projects=_SHOWN,
    sort_key="GSISK",
    packs=_PACKS,
    searches=_SEARCHES,
    implies=_IMPLIES,
)

ALL = _of_product("all", "GSI4PK", partition=("product",))
BY_LANGUAGE = _of_product("byLang", "GSI2PK", partition=("product", "language"))
BY_RATING = _of_product("byRating", "GSI3PK", partition=("product", "rating"))
BY_LANGUAGE_AND_RATING = _of_product(
    "byLangAndRating", "GSIPK", partition=("product", "language", "rating")
)

BY_LOCALE = _of_product("byLocale", "GSI9PK", partition=("product", "locale"))
"""The comments with a tag of at least two subtags, such as ``en-GB`` and ``zh-Hant-TW``."""

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
    searches=_SEARCHES,
    implies=_IMPLIES,
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

# The parts of a position. Creating these slices for each row would take 3 % of its decoding.
_AFTER_COUNT = slice(_COUNT_DIGITS, _COUNT_DIGITS + 1)
_BY_DATE = slice(_COUNT_DIGITS + 1, None)
_TIME = slice(INSTANT_LENGTH)
_ID = slice(INSTANT_LENGTH + 1, None)

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


_STORED = tuple([one for one in FIELDS if one.stored])
_stored_values = attrgetter(*[one.name for one in _STORED])
_WRITTEN = tuple([(one.stored, one.write, one.default) for one in _STORED])
_DEFAULTS = [*Comment._field_defaults.values()]
_OPTIONAL = {
    one.stored: (Comment._fields.index(one.name), one.read)
    for one in _STORED
    if one.default is not REQUIRED
}
_REQUIRED_VALUES = len(_STORED) - len(_OPTIONAL)
_new = tuple.__new__  # the class's own function has an argument for each field, and is slower


def data_of(comment: Comment) -> dict[str, Any]:
    """Return the values of a comment's attribute ``data``."""
    return {
        stored: value if write is None else write(value)
        for (stored, write, default), value in zip(_WRITTEN, _stored_values(comment), strict=True)
        if value != default
    }


def _attributes(comment: Comment) -> Item:
    return {
        "product": {"S": comment.product_id},
        "createdAt": {"S": format_instant(comment.created_at)},
        "rating": {"N": str(comment.rating)},
        "language": {"S": comment.language},
        **packed(data_of(comment)),
    }


def _comment_of(row: Row) -> Comment:
    position, item, values = row
    if position[_AFTER_COUNT] == "#":
        position = position[_BY_DATE]
    data = loads(item["data"]["S"])  # as ``unpacked``, without its call for each row
    escaped = position[_ID]
    # Fields after ``created_at`` have defaults, because the items of older versions lack them.
    decoded = [
        unescape(escaped) if "%" in escaped else escaped,
        values["product"] if "product" in values else item["product"]["S"],
        data["username"],
        int(item["rating"]["N"]),
        item["language"]["S"],
        data["title"],
        data["text"],
        parse_instant(position[_TIME]),
        *_DEFAULTS,
    ]
    if len(data) > _REQUIRED_VALUES:
        for name in data:
            if name in _OPTIONAL:
                value = data[name]
                if value is not None:
                    place, read = _OPTIONAL[name]
                    decoded[place] = value if read is None else read(value)
    return _new(Comment, decoded)


COMMENT: Entity[Comment] = Entity(
    key=lambda comment: comment_key(comment.comment_id),
    fields={
        "product": attrgetter("product_id"),
        "author": attrgetter("username"),
        "voted": lambda comment: flag(comment.helpful_count),
        **{name: one.value_of for name, one in FILTERS.items()},
        "language": lambda comment: language_of(comment.language),
        "locale": lambda comment: locale_of(comment.language),
    },
    positions={BY_DATE: comment_position, BY_HELPFUL: helpful_position},
    indexes=(
        ALL,
        BY_LANGUAGE,
        BY_RATING,
        BY_LOCALE,
        BY_LANGUAGE_AND_RATING,
        BY_VERIFIED,
        WITH_PHOTOS,
        HELPFUL,
        BY_AUTHOR,
    ),
    attributes=_attributes,
    decode_row=_comment_of,
    marks=(COUNTED, FOLDED, KEYED, VERSION),
    never=(STATE, "GSI1PK", "GSI1SK"),  # submissions have these, published comments do not
)
