"""The fields of a comment, each declared once: how it is stored, compared, loaded and filtered.

From ``FIELDS`` follow the attribute ``data`` of a comment's item, the digest of idempotency keys,
the values that a load keeps, the filters of lists and of live lists, and the columns of files.
``test_comment_fields.py`` in ``tests`` finds the places that lack a field.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dal.model import RATINGS, AspectRating, Comment, CommentSource, Photo, Reply
from dal.model.rules import MAX_PHOTOS, few
from dal.table.errors import InvalidArgumentError
from dal.table.key_parts import format_instant, parse_instant

MAX_ASPECTS = 6
"""Maximum aspects that a shop names, and maximum ratings of aspects of a comment. With more counts,
the statistics item of a language could be larger than one write unit."""

ASPECTS = "a"
"""The letter of the sums of ratings of aspects."""

ASPECT_NAME = re.compile(r"[a-z][a-z0-9_]{0,19}")
"""Matches the name of an aspect. Attributes of statistics items contain it."""

Rated: TypeAlias = Callable[[str, Sequence[tuple[str, int]]], object]
"""A function of an argument's name, and of names with ratings."""

REQUIRED = object()
"""The default of a field without a default."""


@dataclass(frozen=True, slots=True)
class CommentField:
    """One field of ``Comment``."""

    name: str
    stored: str = ""
    """The field's name in ``data``. Empty if an attribute of the item has the value. ``data`` lacks
    the field if its value is the default."""
    write: Callable[[Any], Any] | None = None
    """Converts the value to JSON. None if the value is JSON."""
    read: Callable[[Any], Any] | None = None
    """Converts JSON to the value."""
    digest: Callable[[Any], Any] | None = None
    """Converts the value to JSON for the digest of idempotency keys. None if authors do not state
    the field."""
    kept: bool = False
    """Whether a load keeps the stored value if the file lacks the field."""
    filter: str = ""
    """The name of the filter of product lists by this field. Empty without a filter."""
    value: Callable[[Any], str] = str
    """Converts the value, or its JSON, to the filter's value."""
    counter: str = ""
    """The letter of the counters of comments with the filter's value ``true``, or of the sums of
    ``numbers``. Empty without these."""
    numbers: Callable[[Any], Mapping[str, int]] | None = None
    """Converts the value to numbers by name, which statistics count and sum. None without them."""
    columns: tuple[str, ...] = ()
    """The columns of files with the value."""
    ratings: Rated | None = None
    """Checks a file's ratings by name, and converts them to the value. None for other values."""

    @property
    def default(self) -> object:
        """The value of a comment that lacks the field, or ``REQUIRED``."""
        return Comment._field_defaults.get(self.name, REQUIRED)

    def value_of(self, comment: Comment) -> str:
        """Return the filter's value of a comment."""
        return self.value(getattr(comment, self.name))


def flag(value: object) -> str:
    """Return the filter value of a boolean, or of a value that may be empty."""
    return "true" if value else "false"


def _write_reply(reply: Reply) -> Mapping[str, str]:
    return {"text": reply.text, "at": format_instant(reply.created_at)}


def _read_reply(reply: Any) -> Reply:
    return Reply(reply["text"], parse_instant(reply["at"]))


def _write_photos(photos: Sequence[Photo]) -> object:
    return [{"url": one.url, "alt": one.alt} for one in photos]


def _read_photos(photos: Any) -> tuple[Photo, ...]:
    return tuple([Photo(one["url"], one["alt"]) for one in photos[:MAX_PHOTOS]])


def _write_aspects(aspects: Sequence[AspectRating]) -> dict[str, int]:
    return {one.name: one.rating for one in aspects}


def _read_aspects(aspects: Any) -> tuple[AspectRating, ...]:
    # Another program may have written other names and ratings. They are neither shown nor counted,
    # because their counters could have any names, and no end.
    valid = [
        AspectRating(name, rating)
        for name, rating in aspects.items()
        if rating in RATINGS and type(rating) is int and ASPECT_NAME.fullmatch(name)
    ]
    return tuple(valid[:MAX_ASPECTS])


def _load_aspects(argument: str, ratings: Sequence[tuple[str, int]]) -> tuple[AspectRating, ...]:
    # The names need not be aspects of the shop, because a shop may name its aspects later.
    seen = set[str]()
    for number, (name, _) in enumerate(ratings):
        place = f"{argument}.{number}"
        if not ASPECT_NAME.fullmatch(name):
            raise InvalidArgumentError(
                f"{place}.name",
                f"{place}.name is {name[:40]!r}; it must be a name such as fit: up to 20 letters "
                "a-z and _.",
            )
        if name in seen:
            raise InvalidArgumentError(
                place, f"{place} repeats the aspect {name!r}: keep one rating of each aspect."
            )
        seen.add(name)
    return tuple([AspectRating(*one) for one in few(argument, ratings, MAX_ASPECTS)])


# The order of the fields is their order in ``data``, which a load compares as text.
FIELDS = (
    CommentField("comment_id", columns=("id",)),
    CommentField("product_id", digest=str, columns=("product_id",)),
    CommentField("created_at", columns=("created_at",)),
    CommentField("rating", digest=int, filter="rating", columns=("rating",)),
    CommentField("language", digest=str, filter="language", columns=("language",)),
    CommentField("title", "title", digest=str, columns=("title",)),
    CommentField("text", "text", digest=str, columns=("text",)),
    CommentField("username", "username", digest=str, columns=("username",)),
    # The digest lacks the display name, because a new JWT may change it.
    CommentField("name", "name", columns=("author_name",)),
    CommentField("updated_at", "updatedAt", format_instant, parse_instant, columns=("updated_at",)),
    CommentField("touched_at", "touchedAt", format_instant, parse_instant, kept=True),
    CommentField(
        "verified_purchase",
        "verifiedPurchase",
        filter="verified",
        value=flag,
        counter="v",
        columns=("verified_purchase",),
    ),
    CommentField(
        "reply", "reply", _write_reply, _read_reply, kept=True, columns=("reply", "replied_at")
    ),
    CommentField("votes", "helpful", kept=True),
    CommentField("votes_before", "helpfulBefore", kept=True, columns=("helpful_before",)),
    CommentField(
        "photos",
        "photos",
        _write_photos,
        _read_photos,
        digest=lambda photos: [[one.url, one.alt] for one in photos],
        kept=True,
        filter="hasPhotos",
        value=flag,
        counter="p",
        columns=("photos",),
    ),
    # Authors state neither of these two, because they could hide an incentive.
    CommentField("source", "source", str, CommentSource, kept=True, columns=("source",)),
    CommentField("incentive", "incentive", kept=True, columns=("incentive", "incentivized")),
    CommentField(
        "aspects",
        "aspects",
        _write_aspects,
        _read_aspects,
        digest=_write_aspects,
        kept=True,
        counter=ASPECTS,
        numbers=_write_aspects,
        columns=("aspects",),
        ratings=_load_aspects,
    ),
)

KEPT = tuple([one.name for one in FIELDS if one.kept])
"""The fields that a load keeps if the row lacks them."""

FILTERS: Mapping[str, CommentField] = {one.filter: one for one in FIELDS if one.filter}
"""The filters of a product's lists, by name."""
