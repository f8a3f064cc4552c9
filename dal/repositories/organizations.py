"""Organisations and their users: pages, reads by name, and conditional writes."""

from dataclasses import replace

from dal.catalogue import query_of
from dal.dynamodb.account import check_search
from dal.dynamodb.errors import AlreadyExistsError, ConditionFailedError
from dal.dynamodb.retries import retry_on_change
from dal.dynamodb.table import Table
from dal.entities.organization import (
    ORGANIZATION_USER,
    decode_organization,
    encode_organization,
    encode_roster,
    organization_key,
    user_key,
    user_position,
)
from dal.errors import NotFoundError
from dal.model import Organization, OrganizationUser, Roster, UserType
from dal.query.executor import Executor
from dal.query.pagination import Edge, Page, PageReader, Slice
from dal.query.plan import Query
from dal.table.errors import InvalidArgumentError
from dal.table.items import (
    ABSENT,
    PRESENT,
    Action,
    key_of,
    replacement,
    unchanged,
    versioned,
)

_ADMINS_AMONG = 1_000
"""Number of users that one Query reads to find another admin."""

_NO_ADMIN = "You are not an admin of this organisation any more: reload it."


class OrganizationRepository:
    """Reads and writes organisations and their users.

    All reads except ``of_user`` are consistent.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        executor = Executor(table.query, ORGANIZATION_USER.indexes)
        self._users = PageReader(executor, ORGANIZATION_USER.decode_row, descending=False)

    async def get(self, name: str) -> Organization | None:
        """Return an organisation by its name; None if it does not exist."""
        item = await self._table.get(organization_key(name))
        return decode_organization(item) if item else None

    async def get_user(self, organization: str, username: str) -> OrganizationUser | None:
        """Return one user of an organisation; None if the organisation does not have the user."""
        item = await self._table.get(user_key(organization, username))
        return ORGANIZATION_USER.decode(item) if item else None

    async def users(self, organization: str, cut: Slice) -> Page[OrganizationUser]:
        """Return one page of an organisation's users, sorted by name (access pattern T1)."""
        return await self._users.read(_users_of(organization), cut)

    async def of_user(self, username: str, cut: Slice) -> Page[OrganizationUser]:
        """Return one page of a user's organisations, sorted by name (access pattern T6).

        The index is global, so the page is eventually consistent.
        """
        return await self._users.read(query_of({"username": frozenset({username})}), cut)

    async def with_users(
        self, organization: str, cut: Slice
    ) -> tuple[Organization | None, Page[OrganizationUser]]:
        """Return an organisation and the first page of its users, by one Query (access pattern T1).

        If the organisation does not exist, it is None in the result. ``cut`` must start at the
        beginning of the list.
        """
        page = await self._users.read(_users_of(organization, head=True), cut)
        return (decode_organization(page.head) if page.head else None), page

    async def create(self, roster: Roster) -> None:
        """Store a new organisation with its first users.

        One transaction writes all items, so a roster may have at most MAX_FIRST_USERS users. Raises
        AlreadyExistsError if another organisation has this name.
        """
        try:
            items = encode_roster(roster)
            await self._table.write([{"Put": {"Item": item, **ABSENT}} for item in items])
        except ConditionFailedError:
            raise AlreadyExistsError(
                f"An organisation {roster.organization.name!r} exists already: choose another name."
            ) from None

    async def add_user(self, user: OrganizationUser, *, by: str | None) -> Edge[OrganizationUser]:
        """Store a new user of an organisation.

        ``by`` is the admin who adds the user; None for staff.

        Raises NotFoundError if the organisation does not exist, or if ``by`` is no longer an admin
        when the write happens. Raises AlreadyExistsError if the organisation has this user already.
        """
        organization = {"Key": organization_key(user.organization), **PRESENT}
        exists = AlreadyExistsError(f"{user.username!r} is a user of this organisation already.")
        if by == user.username:  # a transaction cannot both check and put this user's item
            raise exists
        checks = [] if by is None else [_check_admin(user.organization, by)]
        put = {"Put": {"Item": versioned(ORGANIZATION_USER.encode(user)), **ABSENT}}
        try:
            await self._table.write([{"ConditionCheck": organization}, *checks, put])
        except ConditionFailedError as error:
            if 0 in error.failed:
                raise NotFoundError("Organisation not found.") from None
            if checks and 1 in error.failed:
                raise NotFoundError(_NO_ADMIN) from None
            raise exists from None
        return Edge(user, user_position(user))

    async def set_plan(self, organization: Organization) -> None:
        """Store an organisation's plan. Raise NotFoundError if the organisation does not exist.

        Raises ConflictError if other requests keep changing the plan.
        """

        async def attempt() -> None:
            item = await self._table.get(organization_key(organization.name))
            if item is None:
                raise NotFoundError("Organisation not found.")
            await self._table.write([replacement(item, encode_organization(organization))])

        await retry_on_change(attempt, "this organisation")

    async def change_user(
        self, organization: str, username: str, new: UserType | None, *, by: str | None
    ) -> None:
        """Change the type of an organisation's user, or remove the user if ``new`` is None.

        ``by`` is an admin, or the user who leaves; None for staff. A removed user's tickets stay.

        Raises NotFoundError if the organisation does not have the user, or if ``by`` is no longer
        an admin when the write happens. Raises InvalidArgumentError if ``by`` is the last admin,
        who cannot leave or become a member. Raises ConflictError if other requests keep changing
        the user.

        The write fails in two cases:

        - ``by`` changes or removes another user, and is no longer an admin.
        - ``by`` is an admin who leaves or becomes a member, and no other admin remains. To check
          this, a read finds another admin, and the write's condition is that this user is still an
          admin.

        So an organisation keeps an admin even if two admins remove each other at the same time.
        Writes of staff (``by`` is None), and of members who leave, have no such condition.
        """

        async def attempt() -> None:
            item = await self._table.get(user_key(organization, username))
            if item is None:
                raise NotFoundError("The organisation has no such user.")
            old = ORGANIZATION_USER.decode(item)
            # An equal type is stored again, as a new version: an earlier change may arrive late.
            staying = None if old.type is new else await self._staying(old, new, by)
            as_read = ORGANIZATION_USER.unchanged(item)
            action: Action = {"Delete": {"Key": key_of(item), **as_read}}
            if new is not None:
                changed = ORGANIZATION_USER.encode(replace(old, type=new))
                action = {"Put": {"Item": versioned(changed), **as_read}}
            checks = [] if staying is None else [_check_admin(organization, staying)]
            try:
                await self._table.write([action, *checks])
            except ConditionFailedError as error:
                if 1 in error.failed and staying == by:
                    raise NotFoundError(_NO_ADMIN) from None
                raise

        await retry_on_change(attempt, "this user")

    async def _staying(
        self, user: OrganizationUser, new: UserType | None, by: str | None
    ) -> str | None:
        """Return the name of the user who must still be an admin when the write happens.

        Return None if ``by`` is staff, or a member who leaves the organisation.
        """
        if by != user.username:
            return by
        if user.type is UserType.ADMIN:
            return await self._other_admin(user)
        if new is None:  # a member leaves
            return None
        raise NotFoundError(_NO_ADMIN)

    async def _other_admin(self, admin: OrganizationUser) -> str:
        """Return the name of another admin. Raise InvalidArgumentError if there is none."""
        cut = Slice(_ADMINS_AMONG)
        while True:
            check_search()
            page = await self.users(admin.organization, cut)
            for one in page.nodes:
                if one.type is UserType.ADMIN and one.username != admin.username:
                    return one.username
            if len(page.edges) < cut.limit:
                raise InvalidArgumentError(
                    "username",
                    f"username {admin.username!r} is the organisation's last admin: "
                    "make another user an admin first.",
                )
            cut = replace(cut, after=page.page_info.end)


def _check_admin(organization: str, username: str) -> Action:
    """Return the check, for a transaction, that a user is an admin of an organisation."""
    admin = OrganizationUser(organization, username, UserType.ADMIN)
    as_admin = unchanged(ORGANIZATION_USER.encode(admin), ("data",))
    return {"ConditionCheck": {"Key": user_key(organization, username), **as_admin}}


def _users_of(organization: str, *, head: bool = False) -> Query:
    filters = {"organization": frozenset({organization})}
    return query_of(filters, consistent=True, head=head)
