"""Organisations and their users: pages, look-ups and conditional writes."""

from collections.abc import Iterable, Sequence

from dal import errors
from dal.client.table import Table
from dal.entities.organization import (
    ORGANIZATION_USER,
    decode_organization,
    encode_organization,
    organization_key,
    user_key,
    user_position,
)
from dal.model import Organization, OrganizationUser, Roster
from dal.query.access_patterns import query_of
from dal.query.executor import Executor
from dal.query.pagination import Edge, Page, PageReader, Slice
from dal.query.plan import Query
from dal.repositories.bulk_write import Outcome, overwrite
from dal.table.items import ABSENT, PRESENT


class OrganizationRepository:
    """All access to organisations and their users; all reads are strongly consistent."""

    def __init__(self, table: Table) -> None:
        self._table = table
        executor = Executor(table.query, ORGANIZATION_USER.indexes)
        self._users = PageReader(executor, ORGANIZATION_USER.decode_row, descending=False)

    async def get(self, name: str) -> Organization | None:
        """Return an organisation by its name."""
        item = await self._table.get(organization_key(name))
        return decode_organization(item) if item else None

    async def get_user(self, organization: str, username: str) -> OrganizationUser | None:
        """Return one user of an organisation."""
        item = await self._table.get(user_key(organization, username))
        return ORGANIZATION_USER.decode(item) if item else None

    async def users(self, organization: str, cut: Slice) -> Page[OrganizationUser]:
        """Return one page of an organisation's users, by name (T1)."""
        return await self._users.read(_users_of(organization), cut)

    async def with_users(
        self, organization: str, cut: Slice
    ) -> tuple[Organization | None, Page[OrganizationUser]]:
        """Return an organisation with a page that starts with its first users, in one Query (T1).

        ``cut`` is neither backward nor after anything.
        """
        page = await self._users.read(_users_of(organization, head=True), cut)
        return (decode_organization(page.head) if page.head else None), page

    async def create(self, roster: Roster) -> None:
        """Store a new organisation with its first users; AlreadyExistsError if the name is taken.

        At most 90 users.
        """
        try:
            await self._table.write(
                [{"Put": {"Item": item, **ABSENT}} for item in _items([roster])]
            )
        except errors.ConditionFailedError:
            raise errors.AlreadyExistsError(
                f"An organisation {roster.organization.name!r} exists already: choose another name."
            ) from None

    async def add_user(self, user: OrganizationUser) -> Edge[OrganizationUser]:
        """Store a new user of an organisation.

        Raises NotFoundError without the organisation, and AlreadyExistsError if it has a user of
        this name.
        """
        organization = {"Key": organization_key(user.organization), **PRESENT}
        try:
            await self._table.write(
                [
                    {"ConditionCheck": organization},
                    {"Put": {"Item": ORGANIZATION_USER.encode(user), **ABSENT}},
                ]
            )
        except errors.ConditionFailedError as error:
            if 0 in error.failed:
                raise errors.NotFoundError("Organisation not found.") from None
            raise errors.AlreadyExistsError(
                f"{user.username!r} is a user of this organisation already."
            ) from None
        return Edge(user, user_position(user))

    async def put_many(self, rosters: Sequence[Roster]) -> Outcome:
        """Write organisations of distinct names, with their users, over the stored ones.

        Stored users who are not among these stay.
        """
        return await overwrite(self._table, [list(_items([roster])) for roster in rosters])


def _users_of(organization: str, *, head: bool = False) -> Query:
    filters = {"organization": frozenset({organization})}
    return query_of(filters, consistent=True, head=head)


def _items(rosters: Iterable[Roster]) -> Iterable[dict[str, object]]:
    for roster in rosters:
        yield encode_organization(roster.organization)
        yield from map(ORGANIZATION_USER.encode, roster.users)
