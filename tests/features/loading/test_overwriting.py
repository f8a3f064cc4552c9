"""Loaded orders, organisations and profiles are written over the stored ones."""

from dal.dynamodb.table import Table
from dal.model import OrderStatus, Organization, OrganizationUser, Profile, Roster
from dal.query.pagination import Slice
from dal.repositories.orders import OrderSelection
from dal.stores import Stores
from dal.writes.overwrite import Outcome
from features.loading.kind import ORDERS, ORGANIZATIONS, PROFILES
from tests.organizations import ACME, ROSTERS
from tests.putting import put_rosters
from tests.strategies import order


async def test_a_load_is_repeatable_and_stores_the_last_row_of_an_id(table: Table) -> None:
    store, standings = Stores(table).orders, Stores(table).standings
    shipped, delivered = OrderStatus.SHIPPED, OrderStatus.DELIVERED
    rows = [order("7"), order("8", status=delivered), order("7", status=shipped)]
    for outcome in (Outcome(new=2), Outcome(unchanged=2)):
        assert await ORDERS.put(Stores(table))(rows) == outcome
        page = await store.page(OrderSelection("ana"), Slice(10))
        assert [(one.order_id, one.status) for one in page.nodes] == [
            ("8", delivered),
            ("7", shipped),
        ]
    assert (await standings.permission("ana", "42")).bought
    assert not (await store.open_page(Slice(10))).edges


async def test_loading_again_keeps_the_users_that_were_added_since(each_table: Table) -> None:
    stores = Stores(each_table)
    await put_rosters(each_table, ROSTERS)
    await stores.organizations.add_user(OrganizationUser(ACME.name, "zoe"), by=None)
    free = Roster(Organization(ACME.name, "Free"), ROSTERS[0].users[:1])
    assert await ORGANIZATIONS.put(stores)([free]) == Outcome(changed=1)
    organization, page = await stores.organizations.with_users(ACME.name, Slice(100))
    assert organization == Organization(ACME.name, "Free")
    assert {*page.nodes} == {*ROSTERS[0].users, OrganizationUser(ACME.name, "zoe")}


async def test_a_load_overwrites_profiles(table: Table) -> None:
    users = Stores(table).users
    await users.update_profile("ana", {"email": "ana@b.org"})
    loaded = [(name.lower(), Profile(full_name=name)) for name in ("Ana", "Bob")]
    assert await PROFILES.put(Stores(table))(loaded) == Outcome(new=1, changed=1)
    assert await users.profile("ana") == Profile(full_name="Ana")
    assert await users.profile("bob") == Profile(full_name="Bob")
