"""Resolvers of users: who they are; resolvers.orders has what they ordered."""

import strawberry

from dal import rules
from dal.model import Profile, User
from resolvers.access import may_see, require_viewer
from resolvers.inputs import UpdateProfileInput
from resolvers.payloads import ProfilePayload, reported
from resolvers.selection import Info


async def user(info: Info, username: str) -> User | None:
    """Return the user of this name, as every well-formed identifier is one."""
    return await load(info, rules.identifier("username", username))


async def load(info: Info, username: str) -> User:
    """Return a user whom the viewer may see."""
    may_see(require_viewer(info.context), username)
    return User(username)


async def profile(root: strawberry.Parent[User], info: Info) -> Profile | None:
    """Return what a user says of themselves."""
    info.context.budget.spend()
    return await info.context.stores.users.profile(root.username)


@reported(ProfilePayload)
async def update_profile(info: Info, input: UpdateProfileInput) -> ProfilePayload:  # noqa: A002
    """Change fields of the viewer's own profile."""
    viewer = require_viewer(info.context)
    changes = {}
    if input.full_name is not None:
        changes["full_name"] = rules.title("fullName", input.full_name)
    if input.email is not None:
        changes["email"] = input.email and rules.email("email", input.email)
    await info.context.stores.users.update_profile(viewer.username, changes)
    return ProfilePayload(User(viewer.username))
