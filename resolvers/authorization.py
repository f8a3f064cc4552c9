"""Authorization: which users may see and change which objects.

The viewer is the user of the request's JWT. Functions named ``require_…`` or ``may_…`` raise
errors, so that no caller can ignore a refusal. An object that the viewer may not see is treated as
missing: reads return null, and mutations return NOT_FOUND. So a client cannot find out whether the
object exists.
"""

from dataclasses import dataclass

from dal.errors import NotFoundError
from dal.model import Comment, OrderStatus, OrganizationUser, UserType
from dal.model.standings import Permission
from dal.writes.comments import Hold, Stored, Written
from resolvers.context import Context, Grant, RequestCache, Viewer

MERCHANT = "merchant"

MODERATOR = "moderator"

STAFF = "staff"

ROLES = {
    MERCHANT: "users with the role 'merchant'",
    MODERATOR: "moderators",
    STAFF: "staff",
}
"""The roles in a JWT that give a user additional rights. The values name the users with the role in
messages. Merchants may reply to comments."""


class UnauthenticatedError(Exception):
    """The request needs a user, but has no JWT."""


class ForbiddenError(Exception):
    """The viewer does not have the right to read or change an object, or to use a field."""


def require_viewer(context: Context) -> Viewer:
    """Return the user of the request.

    Raise UnauthenticatedError if the request has no JWT, and ForbiddenError if its JWT is a grant.
    """
    if context.grant is not None:
        raise ForbiddenError(
            "This link only permits comments on its products, and edits of them until they are "
            "published: sign in for everything else."
        )
    if context.viewer is None:
        raise UnauthenticatedError(
            "This field needs a user: send the header 'Authorization: Bearer <JWT>'."
        )
    return context.viewer


@dataclass(frozen=True, slots=True)
class AccountGrant:
    """The ``Grant`` of a user: comments on all products."""

    author: Viewer

    async def permission(self, context: Context, product_id: str | None = None) -> Permission:
        """Return what the user may write about a product."""
        permission = await context.stores.standings.permission(self.author.user_id, product_id)
        may_write(permission)
        return permission

    async def add(self, context: Context, comment: Comment, key: str | None, hold: Hold) -> Written:
        """Store a comment, once for each idempotency key."""
        return await context.stores.comments.add(comment, key, dated=False, hold=hold)

    def may_change(self, written: Stored) -> None:
        """Raise an error unless the user may edit a comment."""
        may_change(self.author, written)


def require_grant(context: Context) -> Grant:
    """Return the right to write comments: the grant in the request's JWT, or the viewer's.

    Raise UnauthenticatedError if the request has no JWT.
    """
    return context.grant or AccountGrant(require_viewer(context))


def is_staff(viewer: Viewer) -> bool:
    """Return whether ``viewer`` has the role ``staff``."""
    return STAFF in viewer.roles


def sees_costs(context: Context, *, impersonal: bool) -> bool:
    """Return whether the viewer may see the cost of an operation.

    ``impersonal`` is whether the operation reads no private object. The cost can reveal whether a
    private object exists. So users who are not staff see it only on a server with ``--show-cost``
    or ``--explain``, and only for impersonal operations.
    """
    staff = context.viewer is not None and is_staff(context.viewer)
    return staff or (impersonal and (context.show_cost or context.explain))


def require_role(context: Context, role: str, to: str) -> Viewer:
    """Return the viewer. Raise ForbiddenError unless the viewer has a role.

    ``to`` is the action in the message.
    """
    viewer = require_viewer(context)
    if role not in viewer.roles:
        raise ForbiddenError(f"Only {ROLES[role]} may {to}.")
    return viewer


def sees_own(viewer: Viewer, username: str) -> bool:
    """Return whether ``viewer`` may see the private objects of ``username``, such as orders."""
    return viewer.user_id == username or is_staff(viewer)


def can_change(viewer: Viewer, username: str) -> bool:
    """Return whether ``viewer`` may change the comments of ``username``."""
    return viewer.user_id == username or is_moderator(viewer)


def is_moderator(viewer: Viewer) -> bool:
    """Return whether ``viewer`` has the role ``moderator``."""
    return MODERATOR in viewer.roles


def may_change(viewer: Viewer, written: Stored) -> None:
    """Raise an error unless ``viewer`` is the author of ``written`` or a moderator.

    For a published comment, the error is ForbiddenError. For an unpublished comment, the error is
    NotFoundError, so that the client cannot find out that the comment exists.
    """
    if not can_change(viewer, written.username):
        if isinstance(written, Comment):
            raise ForbiddenError("Only the author and moderators may change this comment.")
        raise NotFoundError("Comment not found.")


def may_write(permission: Permission) -> None:
    """Raise ForbiddenError while the viewer's data is being erased."""
    if permission.erasing:
        raise ForbiddenError("Your data is being erased. You cannot write until the erasure ends.")


def may_set_status(viewer: Viewer, status: OrderStatus) -> None:
    """Raise ForbiddenError unless ``viewer`` is staff or the order's new status is CANCELLED."""
    if not is_staff(viewer) and status is not OrderStatus.CANCELLED:
        raise ForbiddenError("Only staff may set this status. You may cancel your own orders.")


async def organization_user(
    context: Context, organization: str, username: str
) -> OrganizationUser | None:
    """Return a user of an organisation; None if the organisation does not have the user.

    Each user is read once per request, even if several fields need the user.
    """
    return await context.part(RequestCache).read(
        context.stores.organizations.get_user, organization, username
    )


async def membership(context: Context, organization: str) -> OrganizationUser | None:
    """Return the viewer as a user of an organisation; None if the viewer does not belong to it."""
    return await organization_user(context, organization, require_viewer(context).user_id)


async def sees_organization(context: Context, organization: str) -> bool:
    """Return whether the viewer may see an organisation: the organisation's users and staff may.

    For staff, the result is True even if the organisation does not exist.
    """
    viewer = require_viewer(context)
    return is_staff(viewer) or await membership(context, organization) is not None


async def require_user(context: Context, organization: str) -> None:
    """Raise NotFoundError unless the viewer belongs to the organisation.

    The error is also raised for staff who do not belong to it.
    """
    if await membership(context, organization) is None:
        raise NotFoundError("You do not belong to an organisation of this name.")


async def require_admin(context: Context, organization: str, to: str) -> None:
    """Raise an error unless the viewer is staff or an admin of the organisation.

    The error is NotFoundError if the viewer may not see the organisation, otherwise ForbiddenError.
    ``to`` is the action in the message.
    """
    if not await sees_organization(context, organization):
        raise NotFoundError("Organisation not found.")
    if not await _sees_all(context, organization):
        raise ForbiddenError(f"Only staff and the organisation's admins may {to}.")


async def sees_tickets(context: Context, organization: str, username: str) -> bool:
    """Return whether the viewer may see and close a user's tickets in an organisation."""
    if await _sees_all(context, organization):
        return True
    mine = await membership(context, organization)
    return mine is not None and mine.username == username


async def require_all_tickets(context: Context, organization: str) -> None:
    """Raise ForbiddenError unless the viewer may see every ticket of an organisation."""
    if not await _sees_all(context, organization):
        raise ForbiddenError(
            "Only staff and the organisation's admins may see all tickets of the organisation."
        )


async def require_tickets(context: Context, organization: str, username: str) -> None:
    """Raise ForbiddenError unless the viewer may see a user's tickets in an organisation."""
    if not await sees_tickets(context, organization, username):
        raise ForbiddenError(
            "Only the user who opened a ticket, staff, and the organisation's admins may see "
            "the ticket."
        )


async def _sees_all(context: Context, organization: str) -> bool:
    if is_staff(require_viewer(context)):
        return True
    mine = await membership(context, organization)
    return mine is not None and mine.type is UserType.ADMIN
