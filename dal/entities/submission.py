"""Submissions (comments that are not published) as items, with the same primary keys as comments.

An item has ``state`` (S), and the JSON attribute ``data`` (S) with all other values. If the comment
was added with an idempotency key, the item also has ``keyed``. The item has no attributes such as
``rating``, and no key of an index by product, so no list of comments contains the submission. In
``byAuthor``, the item's partition key ends in ``/held``, so a user's submissions are listed
separately from the user's published comments. ``GSI1`` lists the submissions that wait for a
moderator.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from dal.entities.comment import (
    ALL,
    BY_AUTHOR,
    COMMENT,
    KEYED,
    STATE,
    comment_in,
    comment_key,
    comment_position,
    is_comment,
)
from dal.model import Comment, rules
from dal.model.submissions import ReviewCause, Submission, SubmissionState
from dal.table.entity import UNREADABLE, Entity, Row, packed, unpacked
from dal.table.errors import InvalidArgumentError
from dal.table.index import BY_DATE, QUEUE_SHARDS, Index
from dal.table.items import Item
from dal.table.key_parts import escape, format_instant, parse_instant

BY_WAITING = ("queued_at", "id")
"""The order of the moderators' queue."""

HELD_BY_AUTHOR = Index(
    BY_AUTHOR.name,
    BY_AUTHOR.partition_key,
    BY_AUTHOR.sort_key,
    BY_AUTHOR.entity,
    ("author", "part"),
    BY_DATE,
    projects=("data",),
)

QUEUE = Index(
    "GSI1",
    "GSI1PK",
    "GSI1SK",
    "QUEUE",
    ("state",),
    BY_WAITING,
    projects=("data",),
    shards=QUEUE_SHARDS,
    covers={"state": frozenset({SubmissionState.PENDING})},
)

HELD = "held"


def submission_in(item: Item | None) -> Submission | None:
    """Return the submission that a table item stores; None for any other item."""
    if item is None or STATE not in item or ALL.partition_key in item or not is_comment(item):
        return None
    try:
        return SUBMISSION.decode(item)
    except UNREADABLE:
        return None


def stored(item: Item | None) -> Comment | Submission | None:
    """Return the comment or submission that an item stores; None for any other item."""
    return submission_in(item) or comment_in(item)


def encode(one: Comment | Submission) -> Item:
    """Return the table item of a comment or a submission."""
    return COMMENT.encode(one) if isinstance(one, Comment) else SUBMISSION.encode(one)


def in_canonical_language(one: Comment | Submission) -> Comment | Submission:
    """Return a comment or a submission with its language tag in canonical form.

    An invalid tag, which another program has written, stays the same.
    """
    tag = _canonical(one.language)
    return one._replace(language=tag) if isinstance(one, Comment) else replace(one, language=tag)


@lru_cache(maxsize=10_000)
def _canonical(tag: str) -> str:
    try:
        return rules.language("language", tag)
    except InvalidArgumentError:
        return tag


def _attributes(submission: Submission) -> Item:
    comment = COMMENT.attributes(submission.published())
    data = unpacked(comment)
    data["comment"] = {name: value for name, value in comment.items() if name != "data"}
    data |= {
        "state": submission.state,
        "queuedAt": format_instant(submission.queued_at),
    }
    if submission.cause is not None:
        data["cause"] = submission.cause
    if submission.reason is not None:
        data["reason"] = submission.reason
    if submission.decided_at is not None:
        data["decidedAt"] = format_instant(submission.decided_at)
    return {STATE: {"S": submission.state}, **packed(data)}


def _decode(row: Row) -> Submission:
    data: dict[str, Any] = unpacked(row.item)
    of_comment = data["comment"]
    position = f"{of_comment['createdAt']['S']}#{row.position.rpartition('#')[2]}"
    comment = COMMENT.decode_row(Row(position, {**of_comment, "data": row.item["data"]}, {}))
    decided_at = data.get("decidedAt")
    return Submission(
        **comment._asdict(),
        state=SubmissionState(data["state"]),
        cause=ReviewCause(data["cause"]) if "cause" in data else None,
        queued_at=parse_instant(data["queuedAt"]),
        reason=data.get("reason"),
        decided_at=parse_instant(decided_at) if decided_at else None,
    )


SUBMISSION: Entity[Submission] = Entity(
    key=lambda submission: comment_key(submission.comment_id),
    fields={
        "author": lambda submission: submission.username,
        "part": lambda _: HELD,
        "state": lambda submission: submission.state,
    },
    positions={
        BY_DATE: lambda submission: comment_position(submission.published()),
        BY_WAITING: lambda submission: (
            f"{format_instant(submission.queued_at)}#{escape(submission.comment_id)}"
        ),
    },
    indexes=(HELD_BY_AUTHOR, QUEUE),
    attributes=_attributes,
    decode_row=_decode,
    marks=(KEYED,),
    never=(ALL.partition_key,),
)
