"""Comments from files: the values of a row, and how a load combines them with the stored comment.

The state, the moderator's decision and the ``KEPT`` fields, such as the reply, are optional in a
row. If a row does not contain them, a load keeps the stored values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from dal.model import Comment
from dal.model.comment_fields import KEPT
from dal.model.submissions import ReviewCause, Submission, SubmissionState


class CommentState(StrEnum):
    """The state of a comment in a file."""

    PUBLISHED = "PUBLISHED"
    PENDING = "PENDING"
    REJECTED = "REJECTED"


DECISION = ("cause", "queued_at", "reason", "decided_at")
"""Fields that only a submission has: a submission is a comment that waits for a moderator or was
rejected. A row with one of these fields also has the field ``state``."""


@dataclass(frozen=True, slots=True)
class LoadedComment:
    """A comment from a row of a file.

    ``given`` contains the row's values of the optional fields: ``state``, the ``KEPT`` fields and
    the ``DECISION`` fields. ``given`` lacks the fields that the row does not contain.
    """

    comment: Comment
    given: Mapping[str, Any] = field(default_factory=dict)

    def over(self, there: Comment | Submission | None, now: datetime) -> Comment | Submission:
        """Return the comment or submission that the load of this row stores at the time ``now``.

        ``there`` is the stored comment or submission with the same id, or None. The result has the
        values of the row. If the row does not contain the state or a ``KEPT`` field, the result
        has the stored value. If the row does not contain a ``DECISION`` field, the result has the
        stored value only if the state stays the same. If ``there`` is None, a row without a state
        is a published comment. For ``updated_at``, see ``_versioned``.
        """
        comment = self.comment
        if there is not None:
            kept = {name: getattr(there, name) for name in KEPT if name not in self.given}
            comment = _versioned(comment._replace(**kept), there, now)
            if there.reply is not None and comment.reply is None:
                comment = comment._replace(touched_at=now)
        before = CommentState.PUBLISHED if there is None else state_of(there)
        state = self.given.get("state", before)
        if state is CommentState.PUBLISHED:
            return comment if state is before else comment._replace(touched_at=now)
        stays = there if state is before else None
        values = {name: self.given.get(name, getattr(stays, name, None)) for name in DECISION}
        if values["queued_at"] is None:
            values["queued_at"] = comment.created_at
        if values["cause"] is None and state is CommentState.PENDING:
            values["cause"] = ReviewCause.FILE
        return Submission(**comment._asdict(), state=SubmissionState(state), **values)

    def after(self, earlier: "LoadedComment") -> "LoadedComment":
        """Return one row with the effect of loading the row ``earlier`` and then this row.

        Both rows have the same id.
        """
        given = {**earlier.given}
        if self.given.get("state", given.get("state")) is not given.get("state"):
            given = {name: value for name, value in given.items() if name in KEPT}
        given.update(self.given)
        kept = {name: given[name] for name in KEPT if name in given}
        return LoadedComment(self.comment._replace(**kept), given)


def _versioned(comment: Comment, there: Comment | Submission, now: datetime) -> Comment:
    """Return the loaded comment with the right ``updated_at``, the time of its last edit.

    If the row's time is later than the time of the stored comment ``there``, the result has the
    row's time. Otherwise the result has the stored time if the content is equal, and ``now`` if the
    content differs. A moderator's approval contains the time of the last edit that the moderator
    saw. If new content kept the old time, an approval of the old content would also approve the new
    content.
    """
    later = comment.updated_at is not None and comment.updated_at > (
        there.updated_at or there.created_at
    )
    if later:
        return comment
    same = comment.content == there.content
    return comment._replace(updated_at=there.updated_at if same else now)


CommentRow: TypeAlias = Comment | LoadedComment
"""A row of a file. A plain ``Comment`` is a row without the fields of ``LoadedComment.given``."""


def loaded(row: CommentRow) -> LoadedComment:
    """Return a row as a ``LoadedComment``."""
    return LoadedComment(row) if isinstance(row, Comment) else row


def state_of(one: Comment | Submission) -> CommentState:
    """Return the state of a comment or a submission."""
    return CommentState(one.state) if isinstance(one, Submission) else CommentState.PUBLISHED
