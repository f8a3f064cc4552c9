"""Idempotency keys: what makes a retried add the same add, also after a restart.

The id of a comment that is added under a key follows from its author and the key, so a second add
meets the first one's item. That item has the mark ``keyed`` (S), ``<until>#<digest>``: until when
the key is remembered (unix seconds), and a digest of what the first add said. No index carries it.

A comment that is deleted before then leaves a tombstone: an item under its key with the mark and
``expires`` (N), and in no index. So a late retry does not bring the comment back.
"""

import hashlib
import time
from collections.abc import Sequence

import orjson

from dal.entities.comment import COMMENT, KEYED
from dal.errors import IdempotencyKeyReusedError
from dal.model import Comment
from dal.table.index import EXPIRES
from dal.table.items import Item, key_of

KEPT_SECONDS = 30 * 24 * 3600
"""How long a key is remembered at least; of a comment that is still there, for as long as it is."""

_DIGITS = 32
"""Of a hash in hexadecimal: 128 bits."""


def comment_id(username: str, idempotency_key: str) -> str:
    """Return the id of the comment that an author adds under a key: each has keys of their own.

    No other author's keys lead to it, nor do the ids of comments that are added without a key.
    """
    return _hash(["comment", username, idempotency_key])


def mark(comment: Comment) -> Item:
    """Return the mark, as attributes, of a comment that is added under a key now."""
    return {KEYED: {"S": f"{int(time.time()) + KEPT_SECONDS}#{_digest(comment)}"}}


def kept_mark(item: Item) -> Item:
    """Return the mark of an item, as attributes of the item that takes its place."""
    return {KEYED: item[KEYED]} if KEYED in item else {}


def tombstone(item: Item) -> Item | None:
    """Return what takes the place of a deleted comment; None where no key is remembered."""
    if KEYED not in item:
        return None
    until = item[KEYED]["S"].partition("#")[0]
    if time.time() >= int(until):
        return None
    return key_of(item) | kept_mark(item) | {EXPIRES: {"N": until}}


def check_same(item: Item, comment: Comment) -> None:
    """Raise IdempotencyKeyReusedError when an item's first add said something else.

    A comment without the mark came from a file: what it says now is compared.
    """
    marked = item.get(KEYED, {}).get("S", "").partition("#")[2]
    if (marked or _digest(COMMENT.decode(item))) != _digest(comment):
        raise IdempotencyKeyReusedError(
            "This idempotency key was used for another comment: choose a new key for a new comment."
        )


def _digest(comment: Comment) -> str:
    said = [
        comment.username,
        comment.product_id,
        comment.rating,
        comment.language,
        comment.title,
        comment.text,
    ]
    return _hash(said)


def _hash(parts: Sequence[object]) -> str:
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:_DIGITS]
