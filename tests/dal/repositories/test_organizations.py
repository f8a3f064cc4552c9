import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from dal.dynamodb.errors import AlreadyExistsError
from dal.dynamodb.table import Table
from dal.errors import NotFoundError
from dal.model import Organization, OrganizationUser, Roster, UserType
from dal.query.pagination import Slice
from dal.repositories import organizations
from dal.repositories.organizations import OrganizationRepository
from dal.stores import Stores
from dal.table.errors import InvalidArgumentError
from dal.table.key_parts import escape
from resolvers.organizations import MAX_FIRST_USERS
from tests.calls import calls_of
from tests.fakes import Answer, FaultyClient
from tests.oracle import walk_pages
from tests.organizations import ACME, ADMIN, COLLEAGUE, MEMBER, ROSTERS
from tests.putting import put_rosters

USERS = sorted(ROSTERS[0].users, key=lambda user: user.username)
ALL = Slice(100, next_page=True, previous_page=True)


class Meeting(FaultyClient):
    """A client that makes another change before its first write."""

    def __init__(self, client: Any, change: Callable[[], Coroutine[Any, Any, None]]) -> None:
        super().__init__(client)
        self._change: Callable[[], Coroutine[Any, Any, None]] | None = change

    async def call(self, operation: str, arguments: Answer) -> Answer:
        change = self._change
        if change is not None and operation not in {"get_item", "query"}:
            self._change = None
            await change()
        return await super().call(operation, arguments)


@pytest.fixture
async def store(each_table: Table) -> OrganizationRepository:
    store = Stores(each_table).organizations
    await put_rosters(each_table, ROSTERS)
    return store


async def test_an_organisation_and_its_users_are_read_by_one_query(each_table: Table) -> None:
    store = Stores(each_table).organizations
    await put_rosters(each_table, ROSTERS)
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


async def test_only_the_first_page_includes_the_organisation(
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


async def test_a_missing_organisation_has_no_users(store: OrganizationRepository) -> None:
    organization, page = await store.with_users("nobody's", ALL)
    assert organization is None
    assert page.edges == []
    assert await store.get("nobody's") is None
    assert await store.get_user(ACME.name, "nobody") is None


async def test_a_new_organisation_and_its_users_can_be_read_at_once(
    store: OrganizationRepository,
) -> None:
    users = [OrganizationUser("new", f"user{number:02}") for number in range(MAX_FIRST_USERS + 1)]
    await store.create(Roster(Organization("new", "Pro"), users))
    organization, page = await store.with_users("new", ALL)
    assert organization == Organization("new", "Pro")
    assert page.nodes == users


async def test_two_organisations_cannot_have_one_name(store: OrganizationRepository) -> None:
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
    with pytest.raises(AlreadyExistsError, match="'new'"):
        await store.create(Roster(organization))


async def test_a_user_is_added_once(store: OrganizationRepository) -> None:
    new = OrganizationUser(ACME.name, "carl", UserType.ADMIN)
    edge = await store.add_user(new, by=None)
    assert (edge.node, edge.position) == (new, "carl")
    with pytest.raises(AlreadyExistsError, match="'carl'"):
        await store.add_user(OrganizationUser(ACME.name, "carl"), by=None)
    assert await store.get_user(ACME.name, "carl") == new


async def test_admins_cannot_add_themselves_again(
    store: OrganizationRepository,
) -> None:
    with pytest.raises(AlreadyExistsError):
        await store.add_user(OrganizationUser(ACME.name, ADMIN), by=ADMIN)


async def test_a_user_needs_an_organisation(store: OrganizationRepository) -> None:
    with pytest.raises(NotFoundError, match="Organisation not found"):
        await store.add_user(OrganizationUser("nobody's", "carl"), by=None)
    assert await store.get_user("nobody's", "carl") is None


@pytest.mark.parametrize("backward", [False, True])
async def test_pages_of_a_users_organisations_are_sorted_by_name(
    each_table: Table, *, backward: bool
) -> None:
    store = Stores(each_table).organizations
    names = [f"{name}{number}" for number in range(6) for name in ("b", "a/", "B#")]
    users = [OrganizationUser(name, "bob", UserType.ADMIN) for name in names]
    others = [OrganizationUser(name, "bo") for name in names]
    await put_rosters(
        each_table,
        [
            Roster(Organization(name, "Pro"), two)
            for name, two in zip(names, zip(users, others, strict=True), strict=True)
        ],
    )
    added = OrganizationUser("b30", "bob")
    await store.create(Roster(Organization("b30", "Pro")))
    await store.add_user(added, by=None)
    in_order = sorted([*users, added], key=lambda user: escape(user.organization))
    for size in (1, 4, 100):
        found = await walk_pages(partial(store.of_user, "bob"), size, backward=backward)
        assert found == in_order
    assert (await store.of_user("b", ALL)).nodes == []


Change = Callable[[OrganizationRepository], Coroutine[Any, Any, None]]


def removed(username: str, by: str | None) -> Change:
    return lambda store: store.change_user(ACME.name, username, None, by=by)


def made(username: str, kind: UserType, by: str | None) -> Change:
    return lambda store: store.change_user(ACME.name, username, kind, by=by)


async def types(store: OrganizationRepository) -> dict[str, str]:
    return {one.username: one.type for one in (await store.users(ACME.name, ALL)).nodes}


async def test_a_user_is_removed_and_changed_by_an_admin(store: OrganizationRepository) -> None:
    await made(MEMBER, UserType.ADMIN, ADMIN)(store)
    await made(MEMBER, UserType.ADMIN, ADMIN)(store)
    await removed(ADMIN, MEMBER)(store)
    assert await types(store) == {MEMBER: "ADMIN", COLLEAGUE: "MEMBER"}
    for change in (removed(ADMIN, MEMBER), made(ADMIN, UserType.MEMBER, None)):
        with pytest.raises(NotFoundError) as caught:
            await change(store)
        assert str(caught.value) != organizations._NO_ADMIN
    await removed(COLLEAGUE, COLLEAGUE)(store)
    assert await types(store) == {MEMBER: "ADMIN"}
    await store.add_user(OrganizationUser(ACME.name, ADMIN, UserType.ADMIN), by=None)
    await removed(ADMIN, ADMIN)(store)
    assert (await store.of_user(ADMIN, ALL)).nodes == []


@pytest.mark.parametrize("change", [removed(ADMIN, ADMIN), made(ADMIN, UserType.MEMBER, ADMIN)])
async def test_only_staff_remove_the_last_admin(
    store: OrganizationRepository, change: Change
) -> None:
    with pytest.raises(InvalidArgumentError, match=f"'{ADMIN}'"):
        await change(store)
    await removed(ADMIN, None)(store)
    assert await types(store) == {MEMBER: "MEMBER", COLLEAGUE: "MEMBER"}


async def test_an_admin_is_found_among_many_users(
    store: OrganizationRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(organizations, "_ADMINS_AMONG", 2)
    await store.add_user(OrganizationUser(ACME.name, "zoe", UserType.ADMIN), by=None)
    await removed(ADMIN, ADMIN)(store)
    with pytest.raises(InvalidArgumentError, match="'zoe'"):
        await removed("zoe", "zoe")(store)


@pytest.mark.parametrize(
    "changes",
    [
        (removed(ADMIN, ADMIN), removed(MEMBER, MEMBER)),
        (removed(ADMIN, MEMBER), removed(MEMBER, ADMIN)),
        (made(ADMIN, UserType.MEMBER, MEMBER), removed(MEMBER, MEMBER)),
        (made(ADMIN, UserType.MEMBER, ADMIN), made(MEMBER, UserType.MEMBER, ADMIN)),
    ],
)
async def test_if_two_admins_leave_concurrently_one_stays(
    each_table: Table, changes: tuple[Change, Change]
) -> None:
    """The second change happens between the reads and the write of the first change."""
    store = Stores(each_table).organizations
    for first, second in (changes, changes[::-1]):
        await put_rosters(each_table, ROSTERS)
        await made(MEMBER, UserType.ADMIN, None)(store)
        meeting = Meeting(each_table.service, partial(second, store))
        refused = (NotFoundError, InvalidArgumentError)
        with pytest.raises(refused, match=r"not an admin|last admin|has no such user"):
            await first(Stores(Table(meeting, each_table.name)).organizations)
        assert list((await types(store)).values()).count("ADMIN") == 1


async def test_an_admin_who_is_demoted_meanwhile_cannot_undo_it(
    each_table: Table, store: OrganizationRepository
) -> None:
    demotion = partial(made(ADMIN, UserType.MEMBER, None), store)
    for change in (made(COLLEAGUE, UserType.ADMIN, ADMIN), made(ADMIN, UserType.ADMIN, ADMIN)):
        meeting = Meeting(each_table.service, demotion)
        with suppress(NotFoundError):
            await change(Stores(Table(meeting, each_table.name)).organizations)
        await demotion()
        with pytest.raises(NotFoundError, match=organizations._NO_ADMIN):
            await change(store)
    assert set((await types(store)).values()) == {"MEMBER"}


async def test_an_admin_who_is_demoted_meanwhile_cannot_add_a_user(
    each_table: Table, store: OrganizationRepository
) -> None:
    meeting = Meeting(each_table.service, partial(made(ADMIN, UserType.MEMBER, None), store))
    meeting_store = Stores(Table(meeting, each_table.name)).organizations
    with pytest.raises(NotFoundError, match=organizations._NO_ADMIN):
        await meeting_store.add_user(OrganizationUser(ACME.name, "eve"), by=ADMIN)
    assert await store.get_user(ACME.name, "eve") is None


async def test_one_of_many_concurrent_removals_succeeds(store: OrganizationRepository) -> None:
    outcomes = await asyncio.gather(
        *(removed(MEMBER, by)(store) for by in (None, ADMIN, MEMBER) * 2), return_exceptions=True
    )
    assert sorted(type(one).__name__ for one in outcomes) == ["NoneType", *["NotFoundError"] * 5]
    assert await types(store) == {ADMIN: "ADMIN", COLLEAGUE: "MEMBER"}


async def test_the_subscription_plan_of_a_missing_organisation_cannot_change(
    store: OrganizationRepository,
) -> None:
    await store.set_plan(Organization(ACME.name, "Free"))
    assert await store.get(ACME.name) == Organization(ACME.name, "Free")
    with pytest.raises(NotFoundError, match="Organisation not found"):
        await store.set_plan(Organization("nobody's", "Free"))
    assert await store.get("nobody's") is None
