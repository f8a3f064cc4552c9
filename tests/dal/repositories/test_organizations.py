import asyncio

import pytest

from dal.client.table import Table
from dal.errors import AlreadyExistsError, NotFoundError
from dal.limits import MAX_FIRST_USERS
from dal.model import Organization, OrganizationUser, Roster, UserType
from dal.query.pagination import Slice
from dal.repositories.bulk_write import Outcome
from dal.repositories.organizations import OrganizationRepository
from dal.stores import Stores
from tests.calls import calls_of
from tests.organizations import ACME, ROSTERS

USERS = sorted(ROSTERS[0].users, key=lambda user: user.username)
ALL = Slice(100, next_page=True, previous_page=True)


@pytest.fixture
async def store(each_table: Table) -> OrganizationRepository:
    store = Stores(each_table).organizations
    await store.put_many(ROSTERS)
    return store


async def test_an_organisation_comes_with_its_users_in_one_query(each_table: Table) -> None:
    store = Stores(each_table).organizations
    await store.put_many(ROSTERS)
    calls = calls_of(each_table)
    for limit in (0, 1, 2, 3, 20):
        calls.clear()
        cut = Slice(limit, next_page=True, previous_page=True)
        organization, page = await store.with_users(ACME.name, cut)
        assert organization == ACME
        assert page.nodes == USERS[:limit]
        assert page.page_info.has_next_page is (limit < 3)
        assert page.page_info.has_previous_page is False
        assert calls.operations == {"Query": 1}
        assert calls.queries[0]["ConsistentRead"] is True
        assert (page.stats.requests, page.stats.index) == (1, "table")


async def test_only_a_page_from_the_beginning_brings_the_organisation(
    store: OrganizationRepository,
) -> None:
    last = await store.users(ACME.name, Slice(100, backward=True))
    assert (last.head, last.nodes) == (None, USERS)
    before = Slice(100, before="bob")
    organization, page = await store.with_users(ACME.name, before)
    assert organization == ACME
    assert page.nodes == [user for user in USERS if user.username < "bob"]
    plain = await store.users(ACME.name, ALL)
    assert (plain.head, plain.nodes) == (None, USERS)


async def test_an_organisation_that_is_not_there(store: OrganizationRepository) -> None:
    organization, page = await store.with_users("nobody's", ALL)
    assert organization is None
    assert page.edges == []
    assert await store.get("nobody's") is None
    assert await store.get_user(ACME.name, "nobody") is None


async def test_a_new_organisation_is_there_at_once_with_its_users(
    store: OrganizationRepository,
) -> None:
    users = [OrganizationUser("new", f"user{number:02}") for number in range(MAX_FIRST_USERS + 1)]
    await store.create(Roster(Organization("new", "Pro"), users))
    organization, page = await store.with_users("new", ALL)
    assert organization == Organization("new", "Pro")
    assert page.nodes == users


async def test_a_name_is_taken_once(store: OrganizationRepository) -> None:
    async def create(username: str) -> bool:
        user = OrganizationUser("new", username, UserType.ADMIN)
        try:
            await store.create(Roster(Organization("new", username), [user]))
        except AlreadyExistsError:
            return False
        return True

    won = await asyncio.gather(*(create(f"user{number}") for number in range(8)))
    assert won.count(True) == 1
    organization, page = await store.with_users("new", ALL)
    assert organization is not None
    assert [user.username for user in page.nodes] == [organization.subscription_plan]
    with pytest.raises(AlreadyExistsError, match="'new' exists already: choose another name"):
        await store.create(Roster(organization))


async def test_a_user_is_added_once(store: OrganizationRepository) -> None:
    new = OrganizationUser(ACME.name, "carl", UserType.ADMIN)
    edge = await store.add_user(new)
    assert (edge.node, edge.position) == (new, "carl")
    with pytest.raises(AlreadyExistsError, match="'carl' is a user of this organisation already"):
        await store.add_user(OrganizationUser(ACME.name, "carl"))
    assert await store.get_user(ACME.name, "carl") == new


async def test_a_user_needs_an_organisation(store: OrganizationRepository) -> None:
    with pytest.raises(NotFoundError, match="Organisation not found"):
        await store.add_user(OrganizationUser("nobody's", "carl"))
    assert await store.get_user("nobody's", "carl") is None


async def test_loading_again_keeps_the_users_that_came_since(store: OrganizationRepository) -> None:
    await store.add_user(OrganizationUser(ACME.name, "zoe"))
    free = Roster(Organization(ACME.name, "Free"), ROSTERS[0].users[:1])
    assert await store.put_many([free]) == Outcome(changed=1)
    organization, page = await store.with_users(ACME.name, ALL)
    assert organization == Organization(ACME.name, "Free")
    assert page.nodes == [*USERS, OrganizationUser(ACME.name, "zoe")]
