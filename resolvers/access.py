"""Who may do what; each rule raises, so that a caller cannot overlook its answer."""

from dal.model import Comment
from resolvers.context import Context, Viewer

MODERATOR = "moderator"


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


def changes(viewer: Viewer, username: str) -> bool:
    """Return whether ``viewer`` may change what ``username`` wrote."""
    return viewer.username == username or MODERATOR in viewer.roles


def may_change(viewer: Viewer, comment: Comment) -> None:
    """Raise ForbiddenError unless ``viewer`` wrote the comment or is a moderator."""
    if not changes(viewer, comment.username):
        raise ForbiddenError("Only its author or a moderator may change a comment.")
