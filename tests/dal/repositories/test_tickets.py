import asyncio
import uuid
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dal.dynamodb.errors import ConflictError
from dal.dynamodb.table import Table
from dal.entities.ticket import ticket_position
from dal.errors import IdempotencyKeyReusedError, NotFoundError
from dal.model import OrganizationUser, Roster, Ticket, TicketStatus
from dal.query.pagination import Edge, Slice
from dal.repositories.tickets import TicketSelection
from dal.stores import Stores
from tests.calls import calls_of
from tests.engines import SECOND_IN_SOAK
from tests.oracle import page_of, walk_pages
from tests.organizations import ACME, COLLEAGUE, MEMBER, NEWEST, OTHER, TICKETS, fill, ticket
from tests.putting import put_rosters, put_tickets

OPEN, CLOSED = TicketStatus.OPEN, TicketStatus.CLOSED
SUBSETS: tuple[frozenset[TicketStatus] | None, ...] = (
    None,
    frozenset(),
    frozenset({OPEN}),
    frozenset({CLOSED}),
    frozenset(TicketStatus),
)


@pytest.fixture
async def stores(each_table: Table) -> Stores:
    stores = Stores(each_table)
    await fill(stores)
    return stores


def newest_first(tickets: list[Ticket]) -> list[Ticket]:
    return sorted(tickets, key=ticket_position, reverse=True)


MINE = newest_first(
    [one for one in TICKETS if (one.organization, one.username) == (ACME.name, MEMBER)]
)


async def test_a_user_and_the_newest_tickets_are_read_by_one_query(
    each_table: Table, stores: Stores
) -> None:
    calls = calls_of(each_table)
    for limit in (0, 1, 20, 30, 100):
        calls.clear()
        cut = Slice(limit, next_page=True, previous_page=True)
        user, page = await stores.tickets.with_user(ACME.name, MEMBER, cut)
        assert user == OrganizationUser(ACME.name, MEMBER)
        assert page.nodes == MINE[:limit]
        assert page.page_info.has_next_page is (limit < 30)
        assert page.page_info.has_previous_page is False
        assert calls.operations == {"Query": 1}
        assert calls.queries[0]["ScanIndexForward"] is False
        assert page.stats.index == "GSI1"


numbers = st.none() | st.integers(0, 40)
kinds = st.sampled_from(["open", "close", "page"])


@SECOND_IN_SOAK
@settings(max_examples=20)
@given(
    happenings=st.lists(st.tuples(kinds, st.integers(0, 40)), max_size=12),
    of=st.sampled_from(["user", "organisation", "user in two organisations"]),
    statuses=st.sampled_from(SUBSETS),
    size=st.integers(0, 6),
    backward=st.booleans(),
    ends=st.tuples(numbers, numbers),
    created=st.tuples(numbers, numbers),
    reverse=st.booleans(),
)
async def test_every_page_is_the_slice_of_the_sorted_list(
    each_table: Table,
    *,
    happenings: list[tuple[str, int]],
    of: str,
    statuses: frozenset[TicketStatus] | None,
    size: int,
    backward: bool,
    ends: tuple[int | None, int | None],
    created: tuple[int | None, int | None],
    reverse: bool,
) -> None:
    """Tickets are opened and closed between pages. The head item is never counted as a row."""
    store = Stores(each_table).tickets
    name = uuid.uuid4().hex
    await put_rosters(
        each_table, [Roster(replace(ACME, name=name), [OrganizationUser(name, MEMBER)])]
    )
    live: dict[str, Ticket] = {}
    after, before = (
        None if end is None else ticket_position(ticket(end, MEMBER, name)) for end in ends
    )
    cut = Slice(size, backward, after, before, True, True, reverse)
    since, until = (None if one is None else ticket(one, MEMBER).created_at for one in created)
    username = None if of == "organisation" else MEMBER
    names = frozenset({name, f"{name}2"}) if of == "user in two organisations" else name
    selection = TicketSelection(names, username, statuses, since, until)
    for kind, number in [*happenings, ("page", 0)]:
        author = COLLEAGUE if number % 3 else MEMBER
        place = name if number % 4 else f"{name}2"
        one = replace(ticket(number, author, place), ticket_id=f"{name}{number}")
        if kind == "open":
            live[one.ticket_id] = replace(one, status=OPEN)
            await put_tickets(each_table, [live[one.ticket_id]])
        elif kind == "close" and one.ticket_id in live:
            if live[one.ticket_id].status is OPEN:
                live[one.ticket_id] = (await store.close(live[one.ticket_id])).node
        elif kind == "page":
            rows = [
                t
                for t in live.values()
                if username in {None, t.username}
                and (t.organization == name or names != name)
                and (statuses is None or t.status in statuses)
                and (since is None or t.created_at >= since)
                and (until is None or t.created_at < until)
            ]
            positions = [ticket_position(row) for row in newest_first(rows)]
            page = await store.page(selection, cut)
            user, headed = None, page
            from_the_newest = not (backward or reverse) and after is None
            if selection == TicketSelection(name, MEMBER) and from_the_newest:
                user, headed = await store.with_user(name, MEMBER, cut)
                assert user == OrganizationUser(name, MEMBER)
            for shown in (page, headed):
                info = shown.page_info
                assert (
                    [edge.position for edge in shown.edges],
                    info.has_next_page,
                    info.has_previous_page,
                ) == page_of(positions, cut)
                assert shown.nodes == [live[node.ticket_id] for node in shown.nodes]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("backward", [False, True])
async def test_open_tickets_of_all_users_are_read_in_both_orders(
    stores: Stores, *, backward: bool, reverse: bool
) -> None:
    """A closed ticket leaves the list."""
    live = newest_first([one for one in TICKETS if one.status is OPEN])
    assert {one.organization for one in live} == {ACME.name, OTHER.name}
    closed = live.pop(3)
    await stores.tickets.close(closed)
    since, until = live[-2].created_at, live[1].created_at
    for start, end in ((None, None), (since, until)):
        read = partial(stores.tickets.open_page, created_from=start, created_before=end)
        rows = [
            one
            for one in live
            if (start is None or one.created_at >= start) and (end is None or one.created_at < end)
        ]
        assert len(rows) > 4
        for size in (1, 3, 20):
            found = await walk_pages(read, size, backward=backward, reverse=reverse)
            assert found == (rows[::-1] if reverse else rows)


async def test_a_user_without_tickets_and_a_missing_user_have_no_tickets(stores: Stores) -> None:
    await stores.organizations.add_user(OrganizationUser(ACME.name, "zoe"), by=None)
    user, page = await stores.tickets.with_user(ACME.name, "zoe", Slice(20))
    assert (user, page.nodes) == (OrganizationUser(ACME.name, "zoe"), [])
    user, page = await stores.tickets.with_user(ACME.name, "nobody", Slice(20))
    assert (user, page.nodes) == (None, [])


async def test_users_see_only_their_own_tickets(stores: Stores) -> None:
    page = await stores.tickets.page(TicketSelection(ACME.name, COLLEAGUE), Slice(100))
    assert {one.username for one in page.nodes} == {COLLEAGUE}
    page = await stores.tickets.page(TicketSelection(OTHER.name, MEMBER), Slice(100))
    assert page.nodes == [TICKETS[-1]]


async def test_a_ticket_by_its_id_is_one_read(each_table: Table, stores: Stores) -> None:
    calls = calls_of(each_table)
    assert await stores.tickets.get(TICKETS[3].ticket_id) == TICKETS[3]
    assert await stores.tickets.get("gone") is None
    assert calls.operations == {"GetItem": 2}


async def test_a_ticket_is_opened_by_a_user_of_the_organisation(stores: Stores) -> None:
    new = ticket(300, OTHER.name)
    with pytest.raises(NotFoundError):
        await stores.tickets.create(new)
    assert await stores.tickets.get(new.ticket_id) is None
    edge = await stores.tickets.create(replace(new, username=MEMBER))
    assert edge.position == ticket_position(new)
    again = replace(edge.node, created_at=NEWEST)
    assert (await stores.tickets.create(again)).node == edge.node
    with pytest.raises(IdempotencyKeyReusedError):
        await stores.tickets.create(replace(again, text="Another."))
    assert await stores.tickets.get(new.ticket_id) == edge.node


async def test_one_of_many_concurrent_closes_succeeds(stores: Stores) -> None:
    one = MINE[0]
    assert one.status is OPEN
    outcomes = await asyncio.gather(
        *(stores.tickets.close(one) for _ in range(8)), return_exceptions=True
    )
    closed = [outcome.node for outcome in outcomes if isinstance(outcome, Edge)]
    assert closed == [replace(one, status=CLOSED)]
    refused = [outcome for outcome in outcomes if not isinstance(outcome, Edge)]
    assert [type(outcome) for outcome in refused] == [ConflictError] * 7
    assert await stores.tickets.get(one.ticket_id) == closed[0]


async def test_a_ticket_whose_user_has_changed_is_not_closed(stores: Stores) -> None:
    one = MINE[0]
    await put_tickets(stores.table, [replace(one, username=COLLEAGUE)])
    with pytest.raises(ConflictError):
        await stores.tickets.close(one)
