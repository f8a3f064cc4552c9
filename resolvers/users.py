"""Users and their profiles, and authors, which show the public data of users."""

from typing import Any, Unpack

import strawberry

from dal.model import Author, Comment, Order, OrganizationUser, Profile, Ticket, User, rules
from dal.query.pagination import Page
from dal.repositories.comments import AuthorSelection
from resolvers.authorization import require_viewer, sees_own
from resolvers.context import RequestCache
from resolvers.mutations import Fields, Rule, changed, reported
from resolvers.node_ids import plain_id
from resolvers.selection import (
    DatedArguments,
    Info,
    Input,
    Username,
    dated_slice,
    with_arguments,
)


@strawberry.input(description="Fields to change. An omitted field keeps its value.")
class UpdateProfileInput:
    """Input of ``updateProfile``: new values of some fields of the viewer's profile."""

    full_name: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="Full name. Maximum 200 characters. Null or an empty string removes the name.",
    )
    email: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="Email address. Maximum 254 characters. Null or an empty string removes the "
        "address.",
    )


def _email(argument: str, value: str) -> str:
    return value and rules.email(argument, value)


async def user(info: Info, username: Username) -> User | None:
    """Return the user with this name; None if the viewer may not see the user.

    Every valid user name has a user.
    """
    return await load(info, plain_id("username", username))


async def load(info: Info, username: str) -> User | None:
    """Return the user with this name, for ``node``, which has checked the name."""
    viewer = require_viewer(info.context)
    if viewer.user_id == username:
        return User(username, viewer.name)
    return User(username) if sees_own(viewer, username) else None


def viewer(info: Info) -> User | None:
    """Return the user of the JWT; None without a JWT."""
    viewer = info.context.viewer
    return None if viewer is None else User(viewer.user_id, viewer.name)


def user_of(root: strawberry.Parent[Order]) -> User:
    """Return the user to whom the order belongs, with the display name from the order."""
    return User(root.username, root.customer_name)


def author_of(root: strawberry.Parent[Comment | Ticket]) -> Author:
    """Return the author of a comment or ticket, with the display name in the comment or ticket."""
    # ``root.name or root.username`` equals ``root.author_name``, but needs no call per row.
    return Author(root.username, root.name or root.username)


def visible_user_of(root: strawberry.Parent[OrganizationUser], info: Info) -> User | None:
    """Return the user if the viewer is this user or staff; otherwise None."""
    viewer = require_viewer(info.context)
    return User(root.username) if sees_own(viewer, root.username) else None


def author(username: Username) -> Author:
    """Return the author with this user name. Every valid user name has an author."""
    return Author(plain_id("username", username))


async def load_author(info: Info, username: str) -> Author:
    """Return the author with this user name, for ``node``, which has checked the name."""
    del info
    return Author(username)


def name_of(root: strawberry.Parent[Author | User], info: Info) -> Any:
    """Return a user's display name, or a coroutine that reads the name.

    ``root`` often has the name, for example from a comment, a ticket or an order. This name is
    returned without a coroutine, because a coroutine for each row would slow down pages. If
    ``root`` has no name, the coroutine reads it from the table.
    """
    return root.name or _newest_name(info, root.username)


async def _newest_name(info: Info, username: str) -> str:
    """Return the name on a user's newest published comment; without comments, the username."""
    newest = await _newest(info, username)
    return username if newest is None else newest.author_name


async def _newest(info: Info, username: str) -> Comment | None:
    return await info.context.part(RequestCache).read(
        info.context.stores.comments.newest_of_author, username
    )


async def author_is_known(root: strawberry.Parent[Author], info: Info) -> bool:
    """Return whether the author has published comments.

    Every client may read this field, so it must not depend on private data, such as profiles and
    orders.
    """
    return await _newest(info, root.username) is not None


async def user_is_known(root: strawberry.Parent[User], info: Info) -> bool:
    """Return whether the table has data of the user, such as a profile, an order or a comment."""
    stored = await info.context.stores.users.stored(root.username)
    return stored or await _newest(info, root.username) is not None


@with_arguments
async def author_comments(
    root: strawberry.Parent[Author | User], info: Info, **given: Unpack[DatedArguments]
) -> Page[Comment]:
    """Return a page of the author's comments."""
    period, cut = dated_slice(info, **given)
    selection = AuthorSelection(root.username, *period)
    return await info.context.stores.comments.page_of_author(selection, cut)


async def profile(root: strawberry.Parent[User], info: Info) -> Profile | None:
    """Return a user's profile."""
    return await info.context.stores.users.profile(root.username)


@reported(user=None)
async def update_profile(info: Info, input: Input[UpdateProfileInput]) -> Fields:
    """Change fields of the viewer's own profile."""
    viewer = require_viewer(info.context)
    rules_of: dict[str, Rule] = {"full_name": rules.title, "email": _email}
    changes = changed(input, rules_of, rules_of)
    await info.context.stores.users.update_profile(viewer.user_id, changes)
    return {"user": User(viewer.user_id, viewer.name)}
