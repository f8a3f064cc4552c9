"""Users, their profiles, and their public part: authors and their comments."""

from dataclasses import dataclass, field

import strawberry

from dal.model import Comment, Order, OrganizationUser, Profile, Ticket, User, rules
from dal.query.pagination import Page
from dal.repositories.comments import AuthorSelection
from resolvers.authorization import require_viewer, sees_own
from resolvers.mutations import UserError, checked, reported
from resolvers.selection import CreatedBefore, CreatedFrom, DateOrder, Info, OrderBy, slice_of


@strawberry.input(description="Fields to change. A field that is omitted or null keeps its value.")
class UpdateProfileInput:
    """New values of fields of the viewer's profile."""

    full_name: str | None = strawberry.field(
        default=None, description="Full name. Maximum 200 characters; may be empty."
    )
    email: str | None = strawberry.field(default=None, description="Email address; may be empty.")


@dataclass(frozen=True, slots=True)
class ProfilePayload:
    """The user with the new profile."""

    user: User | None = None
    user_errors: list[UserError] = field(default_factory=list)


def _email(argument: str, value: str) -> str:
    return value and rules.email(argument, value)


async def user(info: Info, username: str) -> User | None:
    """Return the user of this name if the viewer may see it; every valid name has a user."""
    viewer = require_viewer(info.context)
    username = rules.identifier("username", username)
    return User(username) if sees_own(viewer, username) else None


def viewer(info: Info) -> User | None:
    """Return the user of the JWT; None without a JWT."""
    viewer = info.context.viewer
    return None if viewer is None else User(viewer.username)


def user_of(root: strawberry.Parent[Comment | Order | Ticket]) -> User:
    """Return the author of a comment or a ticket, or the user who ordered."""
    return User(root.username)


def visible_user_of(root: strawberry.Parent[OrganizationUser], info: Info) -> User | None:
    """Return an organisation's user if the viewer may see more than the name."""
    viewer = require_viewer(info.context)
    return User(root.username) if sees_own(viewer, root.username) else None


def author(username: str) -> User:
    """Return the author of this name; every valid name has an author."""
    return User(rules.identifier("username", username))


async def author_comments(  # noqa: PLR0913, PLR0917 - the field's arguments
    root: strawberry.Parent[User],
    info: Info,
    created_from: CreatedFrom = None,
    created_before: CreatedBefore = None,
    order_by: OrderBy = DateOrder.NEWEST,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> Page[Comment]:
    """Return a page of the author's comments."""
    period = rules.period(created_from, created_before)
    cut = slice_of(info, first, after, last, before, order_by=order_by)
    selection = AuthorSelection(root.username, *period)
    return await info.context.stores.comments.page_of_author(selection, cut)


async def profile(root: strawberry.Parent[User], info: Info) -> Profile | None:
    """Return a user's profile."""
    return await info.context.stores.users.profile(root.username)


@reported(ProfilePayload)
async def update_profile(info: Info, input: UpdateProfileInput) -> ProfilePayload:  # noqa: A002
    """Change fields of the viewer's own profile."""
    viewer = require_viewer(info.context)
    changes = checked(input, {"full_name": rules.title, "email": _email})
    await info.context.stores.users.update_profile(viewer.username, changes)
    return ProfilePayload(User(viewer.username))
