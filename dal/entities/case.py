"""Cases: a moderator's latest decision on a comment, next to the comment's reports.

An item has ``data`` (S) with the decision, and a key of the moderator's partition of ``byAuthor``.
If the moderator approved a text, ``approved`` (S) is the text's version, which conditions of other
writes compare.
"""

from dataclasses import dataclass
from datetime import datetime

from dal.entities.comment import BY_AUTHOR
from dal.entities.entity import packed
from dal.model.key_parts import escape, format_instant
from dal.table.items import Item, primary_key


@dataclass(frozen=True, slots=True)
class Decision:
    """A moderator's decision on the version ``seen`` of a text. With a reason it is a rejection."""

    comment_id: str
    by: str
    at: datetime
    seen: datetime
    reason: str | None = None


def case_key(comment_id: str) -> Item:
    """Return the primary key of a comment's case; its reports have the same partition."""
    return primary_key(f"CASE#{escape(comment_id)}", "CASE")


def encode_decision(decision: Decision) -> Item:
    """Return the item of a decided case, which is in no queue."""
    at, seen = format_instant(decision.at), format_instant(decision.seen)
    approved = decision.reason is None
    data = {
        "decision": "APPROVED" if approved else "REJECTED",
        "by": decision.by,
        "at": at,
        "seen": seen,
        "reason": decision.reason,
    }
    return {
        **case_key(decision.comment_id),
        BY_AUTHOR.partition_key: {"S": f"DID#{escape(decision.by)}"},
        BY_AUTHOR.sort_key: {"S": f"DECISION#{at}#{escape(decision.comment_id)}"},
        **({"approved": {"S": seen}} if approved else {}),
        **packed(data),
    }
