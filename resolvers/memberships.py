"""Who may see what of organisations, their users and these users' tickets.

Staff see everything, admins of an organisation everything of it, members its users and their own
tickets. Every path to these objects asks here; each rule raises ForbiddenError, and
UnauthenticatedError for anybody.
"""

from dal.organization_model import OrganizationUser, UserType
from resolvers.access import ForbiddenError, is_staff, require_viewer
from resolvers.context import Context


async def membership(context: Context, organization: str) -> OrganizationUser | None:
    """Return what the viewer is in an organisation; None for no user of it."""
    return await user_of(context, organization, require_viewer(context).username)


async def user_of(context: Context, organization: str, username: str) -> OrganizationUser | None:
    """Return a user of an organisation, read once a request; None for no user of it."""
    return await context.once.read(context.stores.organizations.get_user, organization, username)


async def require_member(context: Context, organization: str) -> None:
    """Let users of the organisation pass, and staff."""
    if not is_staff(require_viewer(context)) and await membership(context, organization) is None:
        raise ForbiddenError("Only users of an organisation and staff see it.")


async def require_admin(context: Context, organization: str) -> None:
    """Let admins of the organisation pass, and staff."""
    if not await _sees_all(context, organization):
        raise ForbiddenError("Only admins of an organisation and staff add users to it.")


async def require_user(context: Context, organization: str) -> None:
    """Let users of the organisation pass, but staff only if they are."""
    if await membership(context, organization) is None:
        raise ForbiddenError("Only users of an organisation open its tickets.")


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
