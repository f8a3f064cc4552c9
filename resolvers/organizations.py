"""Organisations and their users: reads by name, lists of users, and mutations."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Unpack

import strawberry

from dal.model import Organization, OrganizationUser, Roster, Ticket, User, UserType, rules
from dal.model.own_ids import user_names
from dal.query.cursors import CursorKind
from dal.query.pagination import Page
from dal.table.errors import InvalidArgumentError
from resolvers.authorization import (
    STAFF,
    is_staff,
    organization_user,
    require_admin,
    require_role,
    require_user,
    require_viewer,
    sees_organization,
    sees_tickets,
)
from resolvers.context import PrefetchedPages, RequestCache
from resolvers.mutations import Fields, NullIsDefault, Rule, checked, checked_each, reported
from resolvers.node_ids import node_id, plain_account, plain_id
from resolvers.selection import (
    Info,
    Input,
    PageArguments,
    Username,
    first_slice,
    slice_of,
    with_arguments,
)

MAX_FIRST_USERS = 90
"""Maximum users in the mutation that creates an organisation. The mutation writes one item for each
user in one transaction, and DynamoDB allows 100 items in a transaction."""


@strawberry.input(description="A user to add to a new organisation.")
class OrganizationUserInput(NullIsDefault):
    """A user to add to a new organisation."""

    username: str = strawberry.field(description="User name, as used to sign in.")
    type: UserType = strawberry.field(
        default=UserType.MEMBER,
        graphql_type=UserType | None,
        description="The user's rights in the organisation. Default MEMBER.",
    )


@strawberry.input(
    description="A new organisation. The signed-in user becomes an admin of the organisation, "
    "unless the user is staff."
)
class CreateOrganizationInput(NullIsDefault):
    """An organisation and its first users."""

    name: str = strawberry.field(description="Unique name.")
    subscription_plan: str = strawberry.field(
        description="Subscription plan, as free text. Maximum 200 characters."
    )
    users: list[OrganizationUserInput] = strawberry.field(
        default_factory=list,
        graphql_type=list[OrganizationUserInput] | None,
        description="Other users of the organisation. Maximum 90.",
    )


@strawberry.input(description="A user to add to an organisation.")
class AddOrganizationUserInput(NullIsDefault):
    """A new user of an organisation."""

    organization_name: str = strawberry.field(
        description="Unique name of an existing organisation."
    )
    username: str = strawberry.field(description="User name, as used to sign in.")
    type: UserType = strawberry.field(
        default=UserType.MEMBER,
        graphql_type=UserType | None,
        description="The user's rights in the organisation. Default MEMBER.",
    )


@strawberry.input(description="A user to remove from an organisation.")
class RemoveOrganizationUserInput:
    """The user to remove."""

    organization_name: str = strawberry.field(description="Unique name of the organisation.")
    username: str = strawberry.field(description="User name, as used to sign in.")


@strawberry.input(description="A change of a user's rights in an organisation.")
class SetOrganizationUserTypeInput:
    """A user of an organisation, and the user's new type: ADMIN or MEMBER."""

    organization_name: str = strawberry.field(description="Unique name of the organisation.")
    username: str = strawberry.field(description="User name, as used to sign in.")
    type: UserType = strawberry.field(description="The user's new rights in the organisation.")


@strawberry.input(description="A change of an organisation's subscription plan.")
class SetSubscriptionPlanInput:
    """An organisation and its new subscription plan."""

    organization_name: str = strawberry.field(description="Unique name of the organisation.")
    subscription_plan: str = strawberry.field(
        description="Subscription plan, as free text. Maximum 200 characters."
    )


async def load_user(info: Info, own_id: str) -> OrganizationUser | None:
    """Return a user of an organisation, for ``node``.

    ``own_id`` is the part of the global id after the type: organisation and username. Return None
    if the user is missing, or if the viewer may not see the organisation.
    """
    organization, username = user_names(own_id)
    if not await sees_organization(info.context, organization):
        return None
    return await organization_user(info.context, organization, username)


async def organization(
    info: Info,
    organization_name: Annotated[
        str, strawberry.argument(description="Unique name of the organisation.")
    ],
) -> Organization | None:
    """Return an organisation by name; None if it is missing or the viewer may not see it."""
    return await load(info, plain_id("organizationName", organization_name))


async def load(info: Info, name: str) -> Organization | None:
    """Return the organisation with this name, for ``node``, which has checked the name.

    If the request selects the organisation's first users, one Query reads organisation and users.
    """
    context, store = info.context, info.context.stores.organizations
    if not await sees_organization(context, name):
        return None
    cut = first_slice(info, "users", kind=CursorKind.NAME)
    if cut is None:
        return await store.get(name)
    found, page = await store.with_users(name, cut)
    if found is not None:
        context.part(PrefetchedPages).keep(found, cut, page)
    return found


async def organization_of(
    root: strawberry.Parent[OrganizationUser | Ticket], info: Info
) -> Organization | None:
    """Return the organisation of a user or ticket; None if the viewer may not see it.

    Each organisation is read once per request.
    """
    context = info.context
    if not await sees_organization(context, root.organization):
        return None
    return await context.part(RequestCache).read(
        context.stores.organizations.get, root.organization
    )


@with_arguments
async def users(
    root: strawberry.Parent[Organization], info: Info, **given: Unpack[PageArguments]
) -> Page[OrganizationUser]:
    """Return a page of an organisation's users, sorted by user name."""
    cut = slice_of(info, **given, kind=CursorKind.NAME)
    page = info.context.part(PrefetchedPages).take(root, cut)
    return page or await info.context.stores.organizations.users(root.name, cut)


@with_arguments
async def organizations_of(
    root: strawberry.Parent[User], info: Info, **given: Unpack[PageArguments]
) -> Page[OrganizationUser]:
    """Return a page of a user's memberships, sorted by the organisation's name."""
    cut = slice_of(info, **given, kind=CursorKind.NAME)
    return await info.context.stores.organizations.of_user(root.username, cut)


async def user(
    root: strawberry.Parent[Organization], info: Info, username: Username
) -> OrganizationUser | None:
    """Return one user of an organisation; None if the organisation does not have the user.

    If the request selects the user's newest tickets, and the viewer may see these tickets, one
    Query reads the user and the tickets.
    """
    context = info.context
    plain_id("username", username)
    cut = first_slice(info, "tickets")
    if cut is not None and await sees_tickets(context, root.name, username):
        found, page = await context.stores.tickets.with_user(root.name, username, cut)
        if found is not None:
            context.part(PrefetchedPages).keep(found, cut, page)
            return found
    return await organization_user(context, root.name, username)


@reported(organization=None)
async def create_organization(info: Info, input: Input[CreateOrganizationInput]) -> Fields:
    """Store a new organisation."""
    viewer = require_viewer(info.context)
    stated = checked(input, _NEW)
    types: dict[str, UserType] = stated.pop("users")
    new = Organization(**stated)
    if not is_staff(viewer):
        types[viewer.user_id] = UserType.ADMIN
    first_users = [OrganizationUser(new.name, *one) for one in types.items()]
    await info.context.stores.organizations.create(Roster(new, first_users))
    return {"organization": new}


@reported(organization_user=None, organization_user_edge=None)
async def add_organization_user(info: Info, input: Input[AddOrganizationUserInput]) -> Fields:
    """Store a new user of an organisation."""
    viewer = require_viewer(info.context)
    stated = checked(input, _NAMED)
    await require_admin(info.context, stated["organization_name"], "add users to it")
    new = OrganizationUser(stated["organization_name"], stated["username"], input.type)
    by = None if is_staff(viewer) else viewer.user_id
    edge = await info.context.stores.organizations.add_user(new, by=by)
    return {"organization_user": edge.node, "organization_user_edge": edge}


@reported(deleted_id=None)
async def remove_organization_user(info: Info, input: Input[RemoveOrganizationUserInput]) -> Fields:
    """Remove a user from an organisation.

    Users may remove themselves. Staff and admins may remove every user.
    """
    viewer = require_viewer(info.context)
    stated = checked(input, _NAMED)
    organization, username = stated["organization_name"], stated["username"]
    if viewer.user_id == username and not is_staff(viewer):
        await require_user(info.context, organization)
    else:
        await require_admin(info.context, organization, "remove other users")
    by = None if is_staff(viewer) else viewer.user_id
    await info.context.stores.organizations.change_user(organization, username, None, by=by)
    return {"deleted_id": node_id(OrganizationUser(organization, username))}


@reported(organization_user=None)
async def set_organization_user_type(
    info: Info, input: Input[SetOrganizationUserTypeInput]
) -> Fields:
    """Make a user of an organisation an admin or a member."""
    viewer = require_viewer(info.context)
    stated = checked(input, _NAMED)
    organization, username = stated["organization_name"], stated["username"]
    await require_admin(info.context, organization, "change its users")
    by = None if is_staff(viewer) else viewer.user_id
    await info.context.stores.organizations.change_user(organization, username, input.type, by=by)
    return {"organization_user": OrganizationUser(organization, username, input.type)}


@reported(organization=None)
async def set_subscription_plan(info: Info, input: Input[SetSubscriptionPlanInput]) -> Fields:
    """Change the subscription plan of an organisation. For staff."""
    require_role(info.context, STAFF, "change a subscription plan")
    stated = checked(input, _PLAN)
    changed = Organization(stated["organization_name"], stated["subscription_plan"])
    await info.context.stores.organizations.set_plan(changed)
    return {"organization": changed}


def _types(argument: str, users: Sequence[OrganizationUserInput]) -> dict[str, UserType]:
    """Return ADMIN or MEMBER for each user in the input of ``createOrganization``, by username."""
    if len(users) > MAX_FIRST_USERS:
        raise InvalidArgumentError(
            argument,
            f"{argument} has {len(users):,} entries; the maximum is {MAX_FIRST_USERS}: add the "
            "other users later.",
        )
    names = [one["username"] for one in checked_each(argument, users, _USER)]
    if len(set(names)) < len(names):
        raise InvalidArgumentError(
            argument, f"{argument} has two entries for a username: leave one of them out."
        )
    return dict(zip(names, (one.type for one in users), strict=True))


_USER: Mapping[str, Rule] = {"username": plain_account}
_NAMED: Mapping[str, Rule] = {"organization_name": plain_id, **_USER}
_PLAN: Mapping[str, Rule] = {
    "organization_name": plain_id,
    "subscription_plan": rules.title,
}
_NEW: Mapping[str, Rule] = {
    "name": plain_id,
    "subscription_plan": rules.title,
    "users": _types,
}
