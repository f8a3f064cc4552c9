"""Additions and edits of comments that wait for a moderator."""

from dataclasses import dataclass
from functools import partial

from dal.model.moderation import Moderation
from dal.model.standings import Permission
from dal.model.submissions import ReviewCause, pending
from dal.writes.comments import Edit, Hold
from features.moderation.publication import ModeratedPublication


@dataclass(frozen=True, slots=True)
class _Ruling(Moderation):
    """A rule that holds every comment for one cause, or none if the cause is None."""

    only: ReviewCause | None = None

    def cause(self, *texts: str) -> ReviewCause | None:
        return self.only


def held_for(cause: ReviewCause | None = ReviewCause.SETTING) -> Hold:
    """Return the ``hold`` of an addition that waits for ``cause``; None publishes it."""
    return lambda new: new if cause is None else pending(new, cause, new.created_at)


def edit_for(cause: ReviewCause | None) -> Edit:
    """Return the edit by a user on a server that holds the new text for ``cause``."""
    permission = Permission(blocked=False, erasing=False, bought=False)
    return partial(
        ModeratedPublication(_Ruling(before_publishing=True, only=cause)).edited,
        permission,
        moderator=False,
    )
