"""Who may do what; a ``require_`` or ``may_`` raises, so that no caller overlooks its answer.

What somebody may not even see is as good as missing: look-ups are null, mutations are NOT_FOUND,
whether it is there or not.
"""

from dal.errors import NotFoundError
from dal.model import Comment, OrderStatus, OrganizationUser, UserType
from resolvers.context import Context, Viewer

MODERATOR = "moderator"

STAFF = "staff"


class UnauthenticatedError(Exception):
    """The request names no user and needs one."""


class ForbiddenError(Exception):
    """The request's user may not do this."""


def require_viewer(context: Context) -> Viewer:
    """Return the user of the JWT; UnauthenticatedError without a JWT."""
    if context.viewer is None:
        raise UnauthenticatedError(
            "This needs a user: send the header 'Authorization: Bearer <JWT>'."
        )
    return context.viewer


def is_staff(viewer: Viewer) -> bool:
    """Return whether ``viewer`` works for the shop."""
    return STAFF in viewer.roles


def require_staff(viewer: Viewer, to: str) -> None:
    """Raise ForbiddenError unless ``viewer`` is staff; ``to`` names the action."""
    if not is_staff(viewer):
        raise ForbiddenError(f"Only staff may {to}.")


def sees_own(viewer: Viewer, username: str) -> bool:
    """Return whether ``viewer`` may see a user's private objects."""
    return viewer.username == username or is_staff(viewer)


def can_change(viewer: Viewer, username: str) -> bool:
    """Return whether ``viewer`` may change what ``username`` wrote."""
    return viewer.username == username or MODERATOR in viewer.roles


def may_change(viewer: Viewer, comment: Comment) -> None:
    """Raise ForbiddenError unless ``viewer`` wrote the comment or is a moderator."""
    if not can_change(viewer, comment.username):
        raise ForbiddenError("Only its author or a moderator may change a comment.")


def may_set_status(viewer: Viewer, status: OrderStatus) -> None:
    """Raise ForbiddenError unless ``viewer`` is staff, or would cancel an order."""
    if not is_staff(viewer) and status is not OrderStatus.CANCELLED:
        raise ForbiddenError("Customers may cancel their own orders; the rest is up to staff.")


async def organization_user(
    context: Context, organization: str, username: str
) -> OrganizationUser | None:
    """Return a user of an organisation, read once a request; None for no user of it."""
    return await context.cache.read(context.stores.organizations.get_user, organization, username)


async def membership(context: Context, organization: str) -> OrganizationUser | None:
    """Return what the viewer is in an organisation; None for no user of it."""
    return await organization_user(context, organization, require_viewer(context).username)


async def sees_organization(context: Context, organization: str) -> bool:
    """Return whether the viewer may see an organisation, if there is one."""
    viewer = require_viewer(context)
    return is_staff(viewer) or await membership(context, organization) is not None


async def require_user(context: Context, organization: str) -> None:
    """Let users of the organisation pass, but staff only if they are."""
    if await membership(context, organization) is None:
        raise NotFoundError("You are a user of no such organisation.")


async def require_admin(context: Context, organization: str) -> None:
    """Let admins of the organisation pass, and staff; to strangers it is not there."""
    if not await sees_organization(context, organization):
        raise NotFoundError("There is no such organisation.")
    if not await _sees_all(context, organization):
        raise ForbiddenError("Only admins of an organisation and staff add users to it.")


async def sees_tickets(context: Context, organization: str, username: str) -> bool:
    """Return whether the viewer may see, and close, the tickets of a user."""
    if await _sees_all(context, organization):
        return True
    mine = await membership(context, organization)
    return mine is not None and mine.username == username


async def require_tickets(context: Context, organization: str, username: str) -> None:
    """Let whoever ``sees_tickets`` pass."""
    if not await sees_tickets(context, organization, username):
        raise ForbiddenError(
            "Only who opened a ticket, admins of the organisation and staff see it."
        )


async def _sees_all(context: Context, organization: str) -> bool:
    if is_staff(require_viewer(context)):
        return True
    mine = await membership(context, organization)
    return mine is not None and mine.type is UserType.ADMIN
