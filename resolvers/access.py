"""Who may do what; each rule raises, so that a caller cannot overlook its answer."""

from dal.model import Comment
from resolvers.context import Context, Viewer

MODERATOR = "moderator"
STAFF = "staff"


class UnauthenticatedError(Exception):
    """The request names no user and needs one."""


class ForbiddenError(Exception):
    """The request's user may not do this."""


def require_viewer(context: Context) -> Viewer:
    """Return who asks; UnauthenticatedError for anybody."""
    if context.viewer is None:
        raise UnauthenticatedError(
            "This needs a user: send the header 'Authorization: Bearer <JWT>' "
            "(`marginalia token --user NAME` prints one)."
        )
    return context.viewer


def may_change(viewer: Viewer, comment: Comment) -> None:
    """Raise ForbiddenError unless ``viewer`` wrote the comment or is a moderator."""
    if viewer.username != comment.username and MODERATOR not in viewer.roles:
        raise ForbiddenError("Only its author or a moderator may change a comment.")


def is_staff(viewer: Viewer) -> bool:
    """Return whether ``viewer`` works for the shop."""
    return STAFF in viewer.roles
