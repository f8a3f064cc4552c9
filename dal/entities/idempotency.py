"""Idempotency records: what makes a retried add the same add, also after a restart.

A record is an item of its own, written in the transaction that stores the comment. It outlives the
comment, so a late retry does not bring a deleted comment back.
"""

import hashlib
import time

import orjson

from dal.errors import IdempotencyKeyReusedError
from dal.model import Comment
from dal.table.index import EXPIRES
from dal.table.item import Item, primary_key
from dal.table.keys import escape

KEPT_SECONDS = 30 * 24 * 3600
"""How long a record is kept at least; DynamoDB's time to live drops it later."""


def key(username: str, idempotency_key: str) -> Item:
    """Return the primary key of a record: each author has keys of their own."""
    # The pair may be longer than a sort key can be.
    return primary_key(f"IDEMPOTENCY#{escape(username)}#{escape(idempotency_key)}", "IDEMPOTENCY")


def record(comment: Comment, idempotency_key: str) -> Item:
    """Return the record of an add: the id it was given and a digest of what it said."""
    return {
        **key(comment.username, idempotency_key),
        "comment": {"S": comment.comment_id},
        "digest": {"S": _digest(comment)},
        EXPIRES: {"N": str(int(time.time()) + KEPT_SECONDS)},
    }


def recall(stored: Item, comment: Comment) -> str:
    """Return the id of the first add; IdempotencyKeyReusedError when it said something else."""
    if stored["digest"]["S"] != _digest(comment):
        raise IdempotencyKeyReusedError(
            "This idempotency key was used for another comment: choose a new key for a new comment."
        )
    return str(stored["comment"]["S"])


def _digest(comment: Comment) -> str:
    said = [comment.product_id, comment.rating, comment.language, comment.title, comment.text]
    return hashlib.sha256(orjson.dumps(said)).hexdigest()
