"""Submissions: comments that are not published. Only their authors and moderators see them.

``Submission`` is not a subclass of ``Comment``. So the type checker reports code that uses a
submission as a published comment by mistake. The configuration of import-linter lists the modules
that may import this module.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from operator import attrgetter

from dal.model import AspectRating, Comment, CommentSource, Photo, Reply


class ReviewCause(StrEnum):
    """Why a comment waits for a moderator."""

    SETTING = "SETTING"
    WORDS = "WORDS"
    BLOCKED = "BLOCKED"
    REPORTS = "REPORTS"
    EDIT = "EDIT"
    FILE = "FILE"


class SubmissionState(StrEnum):
    """The state of a comment that is not published."""

    PENDING = "PENDING"
    REJECTED = "REJECTED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A comment that is not published, with the fields of ``Comment``."""

    comment_id: str
    product_id: str
    username: str
    rating: int
    language: str
    title: str
    text: str
    created_at: datetime
    updated_at: datetime | None = None
    verified_purchase: bool = False
    name: str | None = None
    touched_at: datetime | None = None
    reply: Reply | None = None
    votes: int = 0
    votes_before: int = 0
    photos: tuple[Photo, ...] = ()
    source: CommentSource = CommentSource.SITE
    incentive: str | None = None
    aspects: tuple[AspectRating, ...] = ()
    state: SubmissionState = SubmissionState.PENDING
    cause: ReviewCause | None
    """Why the submission waits or waited for review. None if a published comment was rejected, or
    if a file with a rejected comment does not contain the cause."""
    queued_at: datetime
    """The time when the submission began to wait. If a published comment was rejected, this is the
    time of the rejection. If a loaded file does not contain the time, this is ``created_at``."""
    reason: str | None = None
    """The moderator's reason for the rejection. The author can read it."""
    decided_at: datetime | None = None

    own_id = property(attrgetter("comment_id"))
    """The object's id."""

    @property
    def incentivized(self) -> bool:
        """Whether the author received something for writing the comment."""
        return self.incentive is not None

    @property
    def content(self) -> object:
        """The content on which a moderator decides: see ``Comment.content``."""
        return self.title, self.text, self.photos

    @property
    def author_name(self) -> str:
        """The author's name as shown with the comment."""
        return self.name or self.username

    def published(self) -> Comment:
        """Return the submission as a published comment."""
        return Comment(*(getattr(self, name) for name in Comment._fields))


def pending(comment: Comment, cause: ReviewCause, queued_at: datetime) -> Submission:
    """Return a comment as a submission that waits for a moderator."""
    return Submission(**comment._asdict(), cause=cause, queued_at=queued_at)


def rejected(one: Comment | Submission, reason: str, decided_at: datetime) -> Submission:
    """Return a comment or a submission as a rejected submission."""
    if isinstance(one, Comment):
        one = Submission(**one._asdict(), cause=None, queued_at=decided_at)
    return replace(one, state=SubmissionState.REJECTED, reason=reason, decided_at=decided_at)
