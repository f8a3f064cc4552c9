"""Organisations and tickets in GraphQL, with the number of requests to DynamoDB."""

from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest
from strawberry import Schema

from dal.dynamodb.table import Table
from dal.entities.ticket import ticket_position
from dal.model import Organization, OrganizationUser, Roster
from dal.query.plan import MAX_SEGMENTS
from dal.stores import Stores
from dal.table.key_parts import format_instant
from resolvers.context import Viewer
from resolvers.tickets import TICKET_ORGANIZATIONS
from tests.calls import Calls, calls_of
from tests.dal.read_pages import ReadPages
from tests.organizations import ACME, ADMIN, COLLEAGUE, MEMBER, OTHER, ROSTERS, TICKETS, fill
from tests.putting import put_comments, put_rosters, put_tickets
from tests.schema.conftest import STAFF, Run, runner
from tests.strategies import comment

USERNAMES = sorted(user.username for user in ROSTERS[0].users)
MINE = [
    one.ticket_id
    for one in sorted(TICKETS, key=ticket_position, reverse=True)
    if (one.organization, one.username) == (ACME.name, MEMBER)
]

USERS = """
query ($name: String!, $first: Int, $after: String, $last: Int, $before: String) {
  organization(organizationName: $name) {
    name subscriptionPlan
    users(first: $first, after: $after, last: $last, before: $before) {
      edges { cursor node { username type } }
      nodes { username }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
}
"""
TICKETS_OF = """
query ($name: String!, $user: String!, $status: [TicketStatus!],
       $from: DateTime, $end: DateTime, $order: DateOrder,
       $first: Int, $after: String, $last: Int, $before: String) {
  organization(organizationName: $name) {
    user(username: $user) {
      username type
      tickets(status: $status, createdFrom: $from, createdBefore: $end, orderBy: $order,
              first: $first, after: $after, last: $last, before: $before) {
        nodes { ticketId subject text status createdAt username organizationName }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }
  }
}
"""


@pytest.fixture
async def calls(each_table: Table) -> Calls:
    await fill(Stores(each_table))
    return calls_of(each_table)


async def users(run: Run, **variables: object) -> dict[str, Any]:
    pages = ReadPages()
    answer = await run(USERS, Viewer(MEMBER), pages=pages, name=ACME.name, **variables)
    assert answer["errors"] == []
    organization = answer["data"]["organization"]
    assert (organization["name"], organization["subscriptionPlan"]) == (
        ACME.name,
        ACME.subscription_plan,
    )
    page: dict[str, Any] = organization["users"]
    assert [edge["node"]["username"] for edge in page["edges"]] == names(page)
    return page | {"read": pages[0].summary}


def names(page: dict[str, Any]) -> list[str]:
    return [node["username"] for node in page["nodes"]]


async def test_an_organisation_with_its_users_is_one_query(run_each: Run, calls: Calls) -> None:
    page = await users(run_each)
    # The viewer's membership, and the organisation with its users.
    assert calls.operations == {"GetItem": 1, "Query": 1}
    assert names(page) == USERNAMES
    assert page["read"] == ("T1", "table", 1)
    assert page["pageInfo"]["hasNextPage"] is False
    calls.clear()
    answer = await run_each(USERS, STAFF, name=ACME.name)
    assert answer["data"]["organization"]["users"]["nodes"] == page["nodes"]
    assert calls.operations == {"Query": 1}


async def tickets(run: Run, viewer: Viewer, **variables: object) -> dict[str, Any]:
    pages = ReadPages()
    answer = await run(TICKETS_OF, viewer, pages=pages, name=ACME.name, user=MEMBER, **variables)
    assert answer["errors"] == []
    user = answer["data"]["organization"]["user"]
    assert (user["username"], user["type"]) == (MEMBER, "MEMBER")
    page: dict[str, Any] = user["tickets"]
    return page | {"read": pages[0].summary}


def ids(page: dict[str, Any]) -> list[str]:
    return [node["ticketId"] for node in page["nodes"]]


async def test_a_user_with_the_newest_tickets_is_one_query(run_each: Run, calls: Calls) -> None:
    page = await tickets(run_each, Viewer(MEMBER))
    # The viewer's membership, the organisation, and the user with the tickets.
    assert calls.operations == {"GetItem": 2, "Query": 1}
    assert ids(page) == MINE[:20]
    assert page["read"] == ("T2", "GSI1", 1)
    newest = next(one for one in TICKETS if one.ticket_id == MINE[0])
    assert page["nodes"][0] == {
        "ticketId": newest.ticket_id,
        "subject": newest.subject,
        "text": newest.text,
        "status": "OPEN",
        "createdAt": format_instant(newest.created_at),
        "username": MEMBER,
        "organizationName": ACME.name,
    }


async def test_tickets_between_dates_are_read_in_both_orders(run_each: Run, calls: Calls) -> None:
    mine = {one.ticket_id: one.created_at for one in TICKETS}
    start, end = mine[MINE[20]], mine[MINE[10]]
    wanted = [one for one in MINE if start <= mine[one] < end]
    given = {"from": start.isoformat(), "end": end.isoformat()}
    assert ids(await tickets(run_each, Viewer(ADMIN), **given)) == wanted
    first = await tickets(run_each, Viewer(ADMIN), **given, order="OLDEST", first=4)
    assert ids(first) == wanted[::-1][:4]
    cursor = first["pageInfo"]["endCursor"]
    page = await tickets(run_each, Viewer(ADMIN), order="NEWEST", after=cursor)
    assert ids(page) == MINE[MINE.index(wanted[-4]) + 1 :]
    open_ones = await tickets(run_each, Viewer(ADMIN), **given, order="OLDEST", status="OPEN")
    assert ids(open_ones) == [one for one in wanted[::-1] if int(one[2:]) % 4 == 0]
    assert open_ones["read"] == ("T2 (one status)", "byLangAndRating", 1)


async def test_an_organisations_tickets_are_those_of_all_its_users(
    run_each: Run, calls: Calls
) -> None:
    operation = """query ($name: String!, $status: [TicketStatus!], $after: String) {
        organization(organizationName: $name) {
            tickets(status: $status, first: 100, after: $after) {
                nodes { ticketId status author { username } }
                edges { cursor } } } }"""
    of_acme = [
        {
            "ticketId": one.ticket_id,
            "status": one.status.value,
            "author": {"username": one.username},
        }
        for one in sorted(TICKETS, key=ticket_position, reverse=True)
        if one.organization == ACME.name
    ]

    async def page(**variables: object) -> dict[str, Any]:
        pages = ReadPages()
        answer = await run_each(operation, STAFF, pages=pages, name=ACME.name, **variables)
        assert answer["errors"] == []
        shown: dict[str, Any] = answer["data"]["organization"]["tickets"]
        return shown | {"read": pages[0].summary}

    calls.clear()
    everything = await page()
    assert everything["nodes"] == of_acme
    assert everything["read"] == ("T4", "all", 2)
    assert calls.operations == {"GetItem": 1, "Query": 2}
    after = everything["edges"][9]["cursor"]
    open_ones = await page(status="OPEN", after=after)
    assert open_ones["nodes"] == [one for one in of_acme[10:] if one["status"] == "OPEN"]
    assert open_ones["read"][-1] == 1
    assert (await page(status=[]))["nodes"] == []


VIEWER = """query ($status: [TicketStatus!], $first: Int = 50, $after: String) { viewer {
    comments { nodes { commentId } } orders { nodes { id } }
    organizations { nodes { organizationName type } }
    tickets(status: $status, first: $first, after: $after) {
        nodes { ticketId organization { name } } pageInfo { endCursor hasNextPage } } } }"""


async def test_the_viewers_tickets_are_those_of_all_organisations(
    run_each: Run, each_table: Table, calls: Calls
) -> None:
    mine = comment("c1", username=MEMBER)
    await put_comments(Stores(each_table).comments, [mine, comment("c2")])
    everywhere = sorted(
        [one for one in TICKETS if one.username == MEMBER], key=ticket_position, reverse=True
    )
    calls.clear()
    answer = await run_each(VIEWER, Viewer(MEMBER))
    assert answer["errors"] == []
    viewer = answer["data"]["viewer"]
    assert [one["ticketId"] for one in viewer["tickets"]["nodes"]] == [
        one.ticket_id for one in everywhere
    ]
    assert {one["organization"]["name"] for one in viewer["tickets"]["nodes"]} == {
        ACME.name,
        OTHER.name,
    }
    assert viewer["organizations"]["nodes"] == [
        {"organizationName": name, "type": "MEMBER"} for name in (OTHER.name, ACME.name)
    ]
    assert viewer["comments"]["nodes"] == [{"commentId": "c1"}]
    # Queries: comments, orders, twice the organisations, tickets of two. GetItem: two items for
    # each of two organisations.
    assert calls.operations == {"Query": 6, "GetItem": 4}
    first = await run_each(VIEWER, Viewer(MEMBER), status="CLOSED", first=9)
    cut = first["data"]["viewer"]["tickets"]["pageInfo"]
    rest = await run_each(VIEWER, Viewer(MEMBER), status="CLOSED", after=cut["endCursor"])
    closed = [one.ticket_id for one in everywhere if one.status == "CLOSED"]
    assert [
        one["ticketId"]
        for page in (first, rest)
        for one in page["data"]["viewer"]["tickets"]["nodes"]
    ] == closed
    nothing = await run_each(VIEWER, Viewer("zed"))
    assert nothing["errors"] == []
    assert nothing["data"]["viewer"]["tickets"]["nodes"] == []


async def test_the_tickets_of_a_user_of_many_organisations_are_those_of_the_first(
    run: Run, stores: Stores
) -> None:
    """Other users can add a user to any number of organisations. The user's list must not fail."""
    names = [f"o{number:02}" for number in range(MAX_SEGMENTS + 1)]
    rosters = [Roster(Organization(name, "Pro"), [OrganizationUser(name, "zed")]) for name in names]
    await put_rosters(stores.table, rosters)
    for number in (0, TICKET_ORGANIZATIONS - 1, TICKET_ORGANIZATIONS):
        opened = replace(TICKETS[0], ticket_id=f"of{number}", organization=names[number])
        await put_tickets(stores.table, [replace(opened, username="zed")])
    answer = await run(VIEWER, Viewer("zed"))
    assert answer["errors"] == []
    shown = [one["ticketId"] for one in answer["data"]["viewer"]["tickets"]["nodes"]]
    assert sorted(shown) == ["of0", f"of{TICKET_ORGANIZATIONS - 1}"]


async def test_the_predicted_cost_of_tickets_is_that_of_all_organisations(
    run: Run,
) -> None:
    lists = " ".join(f"list{number}: tickets {{ nodes {{ id }} }}" for number in range(12))
    (error,) = (await run(f"{{ viewer {{ {lists} }} }}", Viewer(MEMBER)))["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert f"about {12 * (TICKET_ORGANIZATIONS + 1)} requests to DynamoDB" in error["message"]


@pytest.mark.parametrize(
    ("order", "operations"),
    [
        (None, {"GetItem": 2, "Query": 1}),
        ("NEWEST", {"GetItem": 2, "Query": 1}),
        ("OLDEST", {"GetItem": 3, "Query": 1}),
    ],
)
async def test_a_user_is_read_together_with_the_newest_tickets_only(
    run_each: Run, calls: Calls, order: str | None, operations: dict[str, int]
) -> None:
    """The user's item directly follows the newest ticket in the index."""
    page = await tickets(run_each, Viewer(ADMIN), order=order)
    assert calls.operations == operations
    assert ids(page) == (MINE[:-21:-1] if order == "OLDEST" else MINE[:20])


async def test_a_ticket_by_its_id_is_one_read(run_each: Run, calls: Calls) -> None:
    operation = "query ($id: ID!) { ticket(ticketId: $id) { id ticketId } }"
    answer = await run_each(operation, STAFF, id=MINE[0])
    assert answer["data"]["ticket"]["ticketId"] == MINE[0]
    assert calls.operations == {"GetItem": 1}
    gone = await run_each(operation, STAFF, id="gone")
    assert gone == {"data": {"ticket": None}, "errors": []}


async def test_one_request_reads_each_membership_once(schema: Schema, table: Table) -> None:
    await fill(Stores(table))
    run, calls = runner(schema, Stores(table)), calls_of(table)
    operation = """query ($name: String!) {
        a: organization(organizationName: $name) { users { nodes { username } } }
        b: organization(organizationName: $name) {
            user(username: "bob") { type } users { nodes { id } } }
    }"""
    answer = await run(operation, Viewer(MEMBER), name=ACME.name)
    assert answer["errors"] == []
    assert calls.operations == {"GetItem": 1, "Query": 2}


async def test_the_organisation_of_many_rows_is_read_once(schema: Schema, table: Table) -> None:
    await fill(Stores(table))
    run, calls = runner(schema, Stores(table)), calls_of(table)
    operation = """query ($name: String!) { organization(organizationName: $name) {
        users(first: 5) { nodes { organizationName organization { name }
            tickets(first: 5) { nodes { author { username } organization { name } } } } } } }"""
    answer = await run(operation, STAFF, name=ACME.name)
    assert answer["errors"] == []
    for user in answer["data"]["organization"]["users"]["nodes"]:
        assert (user["organizationName"], user["organization"]) == (ACME.name, {"name": ACME.name})
        for ticket in user["tickets"]["nodes"]:
            assert ticket["organization"] == {"name": ACME.name}
    assert calls.operations == {"GetItem": 1, "Query": 1 + len(USERNAMES)}


SELECTIONS: list[tuple[str, dict[str, int]]] = [
    ("users { nodes { username } }", {"Query": 1}),
    ("users(first: $n) { nodes { username } }", {"Query": 1}),
    ("... on Organization { page: users { ... Nodes } }", {"Query": 1}),
    ("users { nodes { username } } users { pageInfo { hasNextPage } }", {"Query": 1}),
    ("a: users { nodes { username } } b: users(first: 1) { nodes { id } }", {"Query": 2}),
    ("a: users { nodes { username } } b: users { nodes { id } }", {"Query": 2}),
    ("users(last: 3) { nodes { username } }", {"GetItem": 1, "Query": 1}),
    ("users @include(if: $yes) { nodes { username } }", {"Query": 1}),
    ('user(username: "bob") { type }', {"GetItem": 2}),
    ('user(username: "bob") { tickets { nodes { id } } }', {"GetItem": 1, "Query": 1}),
    ('user(username: "nobody") { tickets { nodes { id } } }', {"GetItem": 2, "Query": 1}),
    (
        'user(username: "bob") { tickets(status: OPEN) { nodes { id } } }',
        {"GetItem": 2, "Query": 1},
    ),
    ("subscriptionPlan", {"GetItem": 1}),
]


async def test_only_selected_fields_are_read(schema: Schema, table: Table) -> None:
    await fill(Stores(table))
    run, calls = runner(schema, Stores(table)), calls_of(table)
    fragment = "fragment Nodes on OrganizationUserConnection { nodes { username } }"
    for selection, operations in SELECTIONS:
        number = "$n: Int = 2" if "$n" in selection else ""
        operation = f"""query ($name: String!, $yes: Boolean = true {number}) {{
            organization(organizationName: $name) {{ __typename @include(if: $yes) {selection} }} }}
            {fragment if "Nodes" in selection else ""}"""
        calls.clear()
        answer = await run(operation, STAFF, name=ACME.name)
        assert answer["errors"] == []
        assert calls.operations == operations, selection


async def test_a_bad_argument_fails_its_own_field(run: Run, stores: Stores) -> None:
    await fill(stores)
    for arguments in ("first: -1", 'after: "x"', 'before: "x"', "first: 1, last: 1", "first: 101"):
        operation = f"""query ($name: String!) {{ organization(organizationName: $name) {{
            user(username: "bob") {{ username tickets({arguments}) {{ nodes {{ id }} }} }} }} }}"""
        answer = await run(operation, STAFF, name=ACME.name)
        user = {"username": MEMBER, "tickets": None}
        assert answer["data"] == {"organization": {"user": user}}
        (error,) = answer["errors"]
        assert error["path"] == ["organization", "user", "tickets"]
        assert error["extensions"]["code"] in {"BAD_ARGUMENT", "BAD_CURSOR"}


async def test_global_ids_find_their_objects(run: Run, stores: Stores) -> None:
    await fill(stores)
    operation = """query ($name: String!, $user: String!) { organization(organizationName: $name) {
        id user(username: $user) { id tickets(first: 1) { nodes { id } } } } }"""
    answer = await run(operation, STAFF, name=ACME.name, user=COLLEAGUE)
    organization = answer["data"]["organization"]
    user = organization["user"]
    (ticket,) = user["tickets"]["nodes"]
    nodes = await run(
        """query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id
            ... on Organization { name users { nodes { username } } }
            ... on OrganizationUser { username tickets { nodes { id } } }
            ... on Ticket { subject } } }""",
        STAFF,
        ids=[ticket["id"], organization["id"], user["id"], *map(user_id, BAD_IDS)],
    )
    shown = nodes["data"]["nodes"]
    kinds = [one and one["__typename"] for one in shown]
    assert kinds == ["Ticket", "Organization", "OrganizationUser", *[None] * len(BAD_IDS)]
    assert shown[1]["name"] == ACME.name
    assert [one["username"] for one in shown[1]["users"]["nodes"]] == USERNAMES
    assert shown[2]["username"] == COLLEAGUE
    assert shown[2]["tickets"]["nodes"][0] == ticket
    assert sorted(error["path"][1] for error in nodes["errors"]) == [3, 4, 5, 6, 7, 8, 9]
    assert {error["extensions"]["code"] for error in nodes["errors"]} == {"BAD_ARGUMENT"}


BAD_IDS = ("", "a", "a/", "/b", "a/b/c", "a/%2f", "%ff/a")


def user_id(own_id: str) -> str:
    return b64encode(f"OrganizationUser:{own_id}".encode()).decode()
