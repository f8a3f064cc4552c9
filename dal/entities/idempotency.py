"""Idempotency keys: a client that adds a comment twice with one key adds only one comment.

If a client adds a comment with a key, the comment's id is a hash of the author and the key. So a
second add with the same key finds the item of the first add, even after the server has restarted.
The item's attribute ``keyed`` (S) has the form ``<until>#<digest>``. ``until`` is the Unix time
until which the key is kept. ``digest`` is a digest of the first add's values. The server compares
the values of a second add with this digest. No index projects the attribute.

If a comment is deleted, a tombstone replaces its item, so that a late retry or a delayed request
does not restore the comment. A tombstone has the same primary key, ``expires`` (N) and ``version``,
and is in no index. Before the time ``until``, it also has ``keyed``.
"""

import hashlib
import time
from collections.abc import Sequence

import orjson

from dal.entities.comment import KEYED
from dal.entities.submission import stored
from dal.errors import IdempotencyKeyReusedError
from dal.model import Comment
from dal.model.comment_fields import FIELDS
from dal.model.submissions import Submission
from dal.table.index import EXPIRES, TOMBSTONE_SECONDS, tombstone_expiry
from dal.table.items import Item, key_of, versioned

KEPT_SECONDS = 30 * 24 * 3600
"""Minimum seconds for which a key is kept. While its comment exists, a key is kept longer."""

_DIGITS = 32
"""The number of hexadecimal digits of a hash: 128 bits."""

_FIRST_DIGESTED = ("username", "product_id", "rating", "language", "title", "text", "photos")
_DIGESTED = {one.name: one.digest for one in FIELDS if one.digest is not None}
_LATER_DIGESTED = tuple([one for one in FIELDS if one.name in _DIGESTED.keys() - _FIRST_DIGESTED])


def comment_id(username: str, idempotency_key: str) -> str:
    """Return the id of the comment that an author adds with an idempotency key.

    Two authors with equal keys get different ids.
    """
    return _hash(["comment", username, idempotency_key])


def mark(comment: Comment, until: int = 0) -> Item:
    """Return the attribute ``keyed`` for a comment that is added with a key now.

    The key is kept until the Unix time ``until`` at least.
    """
    until = max(until, int(time.time()) + KEPT_SECONDS)
    return {KEYED: {"S": f"{until}#{_hash(digested(comment))}"}}


def kept_mark(item: Item | None) -> Item:
    """Return the attribute ``keyed`` of an item, or an empty item if it has none.

    A write that replaces the item must keep this attribute.
    """
    return {KEYED: item[KEYED]} if item is not None and KEYED in item else {}


def tombstone(item: Item, *, digest: bool = True) -> Item:
    """Return the tombstone of a deleted comment.

    If ``digest`` is False, the tombstone contains no data from the comment. The server then refuses
    every later add with the key.
    """
    until = item[KEYED]["S"].partition("#")[0] if KEYED in item else "0"
    if time.time() + TOMBSTONE_SECONDS >= int(until):
        return versioned(key_of(item) | tombstone_expiry())
    mark = kept_mark(item) if digest else {KEYED: {"S": f"{until}#"}}
    return versioned(key_of(item) | mark | {EXPIRES: {"N": until}})


def check_same(item: Item, comment: Comment) -> None:
    """Raise IdempotencyKeyReusedError if the first add with this key had other values.

    A comment that was loaded from a file has no digest of the first values. In this case, the
    comment's current values are compared.
    """
    marked = item.get(KEYED, {}).get("S", "").partition("#")[2]
    there = stored(item)
    if (marked or (there and _hash(digested(there)))) != _hash(digested(comment)):
        raise IdempotencyKeyReusedError(
            "This idempotency key was used for another comment: choose a new key for a new comment."
        )


def digested(comment: Comment | Submission) -> list[object]:
    """Return the values that authors state, for the digest of idempotency keys.

    Stored digests must stay equal. So the first seven values keep their places, and a field that
    was added later is only in the digest if its value is not the default.
    """
    first: list[object] = [_DIGESTED[name](getattr(comment, name)) for name in _FIRST_DIGESTED]
    for one in _LATER_DIGESTED:
        value = getattr(comment, one.name)
        if value != one.default:
            first.append([one.name, _DIGESTED[one.name](value)])
    return first


def _hash(parts: Sequence[object]) -> str:
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:_DIGITS]
