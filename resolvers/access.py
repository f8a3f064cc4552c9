"""Who may do what; each rule raises, so that a caller cannot overlook its answer."""

from dal.model import Comment, Order, OrderStatus
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


def changes(viewer: Viewer, username: str) -> bool:
    """Return whether ``viewer`` may change what ``username`` wrote."""
    return viewer.username == username or MODERATOR in viewer.roles


def is_staff(viewer: Viewer) -> bool:
    """Return whether ``viewer`` works for the shop."""
    return STAFF in viewer.roles


def may_change(viewer: Viewer, comment: Comment) -> None:
    """Raise ForbiddenError unless ``viewer`` wrote the comment or is a moderator."""
    if not changes(viewer, comment.username):
        raise ForbiddenError("Only its author or a moderator may change a comment.")


def require_staff(viewer: Viewer) -> None:
    """Raise ForbiddenError unless ``viewer`` is staff."""
    if not is_staff(viewer):
        raise ForbiddenError("Only staff may see this.")


def may_see(viewer: Viewer, username: str) -> None:
    """Raise ForbiddenError unless what is a user's own may be shown to ``viewer``."""
    if viewer.username != username and not is_staff(viewer):
        raise ForbiddenError("Only the user and staff may see this.")


def may_set_status(viewer: Viewer, status: OrderStatus, order: Order) -> None:
    """Raise ForbiddenError unless ``viewer`` is staff, or cancels an order of their own."""
    if is_staff(viewer):
        return
    if viewer.username != order.username or status is not OrderStatus.CANCELLED:
        raise ForbiddenError("Customers may cancel their own orders; the rest is up to staff.")
