"""Idempotency keys: repeating an add with its key adds no second comment, even after a restart.

The id of a comment that is added with a key is a hash of the author and the key, so a second add
finds the first add's item. That item has the mark ``keyed`` (S), ``<until>#<digest>``: the unix
time until which the key is kept, and a digest of the first add's values. No index projects it.

If the comment is deleted before that time, a tombstone replaces it: an item with the same key, the
mark and ``expires`` (N), in no index. So a late retry does not restore the comment.
"""

import hashlib
import time
from collections.abc import Sequence

import orjson

from dal.entities.comment import KEYED
from dal.entities.submission import stored
from dal.errors import IdempotencyKeyReusedError
from dal.model import Comment
from dal.model.submissions import Submission
from dal.table.index import EXPIRES
from dal.table.items import Item, key_of

KEPT_SECONDS = 30 * 24 * 3600
"""The minimum time that a key is kept. A key is also kept while its comment exists."""

_DIGITS = 32
"""The hexadecimal digits of a hash: 128 bits."""


def comment_id(username: str, idempotency_key: str) -> str:
    """Return the id of the comment that an author adds with a key.

    Another author with the same key gets another id. Comments added without a key have other ids.
    """
    return _hash(["comment", username, idempotency_key])


def mark(comment: Comment) -> Item:
    """Return the mark, as attributes, of a comment that is added with a key now."""
    return {KEYED: {"S": f"{int(time.time()) + KEPT_SECONDS}#{_digest(comment)}"}}


def kept_mark(item: Item | None) -> Item:
    """Return an item's mark as attributes, to copy into the item that replaces it."""
    return {KEYED: item[KEYED]} if item is not None and KEYED in item else {}


def tombstone(item: Item, *, digest: bool = True) -> Item | None:
    """Return the item that replaces a deleted comment; None if the comment has no key to keep.

    Without the digest, the item has nothing of the comment's contents, and refuses every retry.
    """
    if KEYED not in item:
        return None
    until = item[KEYED]["S"].partition("#")[0]
    if time.time() >= int(until):
        return None
    mark = kept_mark(item) if digest else {KEYED: {"S": f"{until}#"}}
    return key_of(item) | mark | {EXPIRES: {"N": until}}


def check_same(item: Item, comment: Comment) -> None:
    """Raise IdempotencyKeyReusedError if the item's first add had other values.

    A comment without the mark was loaded from a file: its current values are compared.
    """
    marked = item.get(KEYED, {}).get("S", "").partition("#")[2]
    there = stored(item)
    if (marked or (there and _digest(there))) != _digest(comment):
        raise IdempotencyKeyReusedError(
            "This idempotency key was used for another comment: choose a new key for a new comment."
        )


def _digest(comment: Comment | Submission) -> str:
    """Return a digest of the input without the author's name, which a JWT may change."""
    values = [
        comment.username,
        comment.product_id,
        comment.rating,
        comment.language,
        comment.title,
        comment.text,
    ]
    return _hash(values)


def _hash(parts: Sequence[object]) -> str:
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:_DIGITS]
