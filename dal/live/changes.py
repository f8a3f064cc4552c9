"""Changes of comments as they travel between processes: one JSON object each.

``{"product": …, "position": …, "was": [rating, language, version] or null, "now": item or null}``
is a change, ``{"product": …}`` alone a doubt: whether a write was done is not known.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import orjson

from dal.entities.comment import COMMENT, comment_position
from dal.model import Comment
from dal.model.key_parts import format_instant

UNREADABLE = (ArithmeticError, AttributeError, KeyError, TypeError, ValueError)
"""What ``decode`` raises for the line of another version, or of another program."""

_OVERHEAD = 1_000
"""Bytes of a change beside its texts, about."""


class Was(NamedTuple):
    """What a filter asks of a comment that was, and its version: when it was written."""

    rating: int
    language: str
    version: str


@dataclass(frozen=True, slots=True)
class Change:
    """A comment before and after a write; None where there was none, or is none now."""

    product_id: str
    position: str
    was: Was | None
    now: Comment | None
    late: bool = False
    """Whether it came after changes that are lost, and may be older than they: a reload, then."""

    @property
    def size(self) -> int:
        """What it takes in memory, in bytes, about."""
        text = 0 if self.now is None else len(self.now.text) + len(self.now.title)
        return _OVERHEAD + 4 * text

    @property
    def comment_id(self) -> str:
        """The id of the comment."""
        return self.position.partition("#")[2]


@dataclass(frozen=True, slots=True)
class Doubt:
    """A write about a product that was perhaps done."""

    product_id: str
    size = _OVERHEAD


News: TypeAlias = Change | Doubt


def change_of(old: Comment | None, new: Comment | None) -> Change:
    """Return the change of a write; one of the two is a comment."""
    shown = new or old
    assert shown is not None  # noqa: S101 - nothing was written otherwise
    was = None if old is None else Was(old.rating, old.language, version(old))
    return Change(shown.product_id, comment_position(shown), was, new)


def version(comment: Comment) -> str:
    """Return what tells one state of a comment from the next: the instant it was written."""
    return format_instant(comment.updated_at or comment.created_at)


def encode(news: News) -> bytes:
    """Return a change or a doubt as one line of JSON."""
    if isinstance(news, Doubt):
        return orjson.dumps({"product": news.product_id})
    was = None if news.was is None else list(news.was)
    now = None if news.now is None else COMMENT.encode(news.now)
    return orjson.dumps(
        {"product": news.product_id, "position": news.position, "was": was, "now": now}
    )


def decode(line: bytes) -> News:
    """Return what ``encode`` was given; one of UNREADABLE for anything else."""
    said = orjson.loads(line)
    if "position" not in said:
        return Doubt(said["product"])
    was, now = said["was"], said["now"]
    return Change(
        said["product"],
        said["position"],
        None if was is None else Was(*was),
        None if now is None else COMMENT.decode(now),
    )
