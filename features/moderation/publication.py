"""Moderated publication: some comments wait for a moderator before they are published."""

from dataclasses import replace
from urllib.parse import unquote

from dal.model import Comment
from dal.model.standings import Permission
from dal.model.submissions import ReviewCause, SubmissionState, pending
from dal.writes.comments import Stored, version
from features.moderation.words import Moderation
from resolvers.publication import Publication

_OF_THE_RULE = frozenset({ReviewCause.SETTING, ReviewCause.WORDS})
"""The causes that come from the server's settings (see ``Moderation``). If a comment waits for one
of these causes, an edit publishes it, provided that the settings allow the new text."""


class ModeratedPublication(Publication):
    """Holds comments by the server's moderation rule, and comments of blocked users.

    Comments of moderators do not wait.
    """

    def __init__(self, rule: Moderation) -> None:
        self._rule = rule

    def always_waits(self, *, moderator: bool) -> bool:
        """Return whether each new comment of the viewer waits for a moderator."""
        return self._rule.before_publishing and not moderator

    def added(self, permission: Permission, new: Comment, *, moderator: bool) -> Stored:
        """Return a new comment, as a submission if it must wait for a moderator."""
        cause = None if moderator else self._cause(permission, None, new)
        return new if cause is None else pending(new, cause, new.created_at)

    def edited(
        self, permission: Permission, old: Stored, new: Stored, *, moderator: bool
    ) -> Stored:
        """Return an edited comment, published or as a submission.

        An edit by a moderator does not change the state. Otherwise the edited comment waits for a
        moderator in three cases:

        - The new text must wait.
        - A moderator has rejected the comment.
        - The comment already waits for a cause outside ``_OF_THE_RULE``, such as reports.

        In all other cases the edited comment is published.
        """
        if moderator:
            return new
        if isinstance(new, Comment):
            cause = self._cause(permission, old, new)
            cause = ReviewCause.EDIT if cause is ReviewCause.SETTING else cause
            return new if cause is None else pending(new, cause, version(new))
        comment = new.published()
        if new.state is SubmissionState.REJECTED:
            return pending(comment, ReviewCause.EDIT, version(new))
        if new.cause not in _OF_THE_RULE:
            return new
        cause = self._cause(permission, None, comment)
        return comment if cause is None else replace(new, cause=cause)

    def _cause(
        self, permission: Permission, old: Stored | None, new: Comment
    ) -> ReviewCause | None:
        """Return why a comment must wait for a moderator; None if it need not wait.

        ``old`` is the published comment that ``new`` replaces; None if the comment is new or was
        not published.
        """
        if permission.blocked and (old is None or old.content != new.content):
            return ReviewCause.BLOCKED
        if self._rule.words is None and not self._rule.before_publishing:
            return None  # the texts do not matter
        photos = (text for one in new.photos for text in (unquote(one.url), one.alt))
        return self._rule.cause(new.title, new.text, new.author_name, *photos)
