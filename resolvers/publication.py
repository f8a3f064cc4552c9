"""Publication: whether a new or an edited comment is published."""

from dal.model import Comment
from dal.model.standings import Permission
from dal.writes.comments import Stored


class Publication:
    """Decides whether a new or an edited comment is published. By default it is.

    ``moderator`` is True if the viewer who writes the comment is a moderator.
    """

    def always_waits(self, *, moderator: bool) -> bool:  # noqa: ARG002 - overridden
        """Return whether each new comment of the viewer waits for a moderator."""
        return False

    def added(self, permission: Permission, new: Comment, *, moderator: bool) -> Stored:  # noqa: ARG002 - overridden
        """Return a new comment, published or as a submission."""
        return new

    def edited(
        self,
        permission: Permission,  # noqa: ARG002 - overridden
        old: Stored,  # noqa: ARG002 - overridden
        new: Stored,
        *,
        moderator: bool,  # noqa: ARG002 - overridden
    ) -> Stored:
        """Return an edited comment, published or as a submission.

        ``new`` is the comment after the edit, in the state of ``old``.
        """
        return new
