"""Organisations and tickets as a client asks for them, with the requests each answer takes."""

from base64 import b64encode
from typing import Any

import pytest
from strawberry import Schema

from dal.client.table import Table
from dal.entities.ticket import ticket_position
from dal.stores import Stores
from resolvers.context import Viewer
from tests.calls import Calls, calls_of
from tests.organizations import ACME, ADMIN, COLLEAGUE, MEMBER, ROSTERS, TICKETS, fill
from tests.schema.conftest import STAFF, Run, runner

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
      plan { accessPattern index requests }
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
        plan { accessPattern index requests }
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
    answer = await run(USERS, Viewer(MEMBER), explain=True, name=ACME.name, **variables)
    assert answer["errors"] == []
    organization = answer["data"]["organization"]
    assert (organization["name"], organization["subscriptionPlan"]) == (
        ACME.name,
        ACME.subscription_plan,
    )
    page: dict[str, Any] = organization["users"]
    assert [edge["node"]["username"] for edge in page["edges"]] == names(page)
    return page


def names(page: dict[str, Any]) -> list[str]:
    return [node["username"] for node in page["nodes"]]


async def test_an_organisation_with_its_users_is_one_query(run_each: Run, calls: Calls) -> None:
    page = await users(run_each)
    assert calls.operations == {"GetItem": 1, "Query": 1}  # who asks, and what is asked for
    assert names(page) == USERNAMES
    assert page["plan"] == {"accessPattern": "T1", "index": "table", "requests": 1}
    assert page["pageInfo"]["hasNextPage"] is False
    calls.clear()
    answer = await run_each(USERS, STAFF, name=ACME.name)
    assert answer["data"]["organization"]["users"]["nodes"] == page["nodes"]
    assert calls.operations == {"Query": 1}


async def test_users_page_both_ways_by_name(run_each: Run, calls: Calls) -> None:
    first = await users(run_each, first=2)
    assert names(first) == USERNAMES[:2]
    assert first["pageInfo"]["hasNextPage"] is True
    second = await users(run_each, first=2, after=first["pageInfo"]["endCursor"])
    assert names(second) == USERNAMES[2:]
    assert second["pageInfo"]["hasPreviousPage"] is True
    back = await users(run_each, last=1, before=second["pageInfo"]["startCursor"])
    assert names(back) == USERNAMES[1:2]
    calls.clear()
    before = await users(run_each, first=2, before=second["pageInfo"]["startCursor"])
    assert names(before) == USERNAMES[:2]
    assert calls.operations["GetItem"] == 1
    calls.clear()
    assert names(await users(run_each, first=0)) == []
    assert calls.operations == {"GetItem": 1, "Query": 1}


async def tickets(run: Run, viewer: Viewer, **variables: object) -> dict[str, Any]:
    answer = await run(TICKETS_OF, viewer, explain=True, name=ACME.name, user=MEMBER, **variables)
    assert answer["errors"] == []
    user = answer["data"]["organization"]["user"]
    assert (user["username"], user["type"]) == (MEMBER, "MEMBER")
    page: dict[str, Any] = user["tickets"]
    return page


def ids(page: dict[str, Any]) -> list[str]:
    return [node["ticketId"] for node in page["nodes"]]


async def test_a_user_with_the_newest_tickets_is_one_query(run_each: Run, calls: Calls) -> None:
    page = await tickets(run_each, Viewer(MEMBER))
    # who asks, the organisation, and the user with the tickets
    assert calls.operations == {"GetItem": 2, "Query": 1}
    assert ids(page) == MINE[:20]
    assert page["plan"] == {"accessPattern": "T2", "index": "GSI1", "requests": 1}
    newest = next(one for one in TICKETS if one.ticket_id == MINE[0])
    assert page["nodes"][0] == {
        "ticketId": newest.ticket_id,
        "subject": newest.subject,
        "text": newest.text,
        "status": "OPEN",
        "createdAt": newest.created_at.isoformat(),
        "username": MEMBER,
        "organizationName": ACME.name,
    }


async def test_tickets_page_both_ways_under_any_status(run_each: Run, calls: Calls) -> None:
    by_id = {one.ticket_id: one.status.value for one in TICKETS}
    for status in (None, ["OPEN"], ["CLOSED"], ["OPEN", "CLOSED"], []):
        wanted = [one for one in MINE if status is None or by_id[one] in status]
        first = await tickets(run_each, Viewer(ADMIN), status=status, first=3)
        assert ids(first) == wanted[:3]
        assert first["plan"]["requests"] == (0 if status == [] else 1)
        if not wanted:
            continue
        cursor = first["pageInfo"]["endCursor"]
        second = await tickets(run_each, Viewer(ADMIN), status=status, first=3, after=cursor)
        assert ids(second) == wanted[3:6]
        cursor = second["pageInfo"]["endCursor"]
        back = await tickets(run_each, Viewer(ADMIN), status=status, last=4, before=cursor)
        assert ids(back) == wanted[1:5]
        assert back["pageInfo"]["hasPreviousPage"] is True


async def test_tickets_between_dates_in_both_orders(run_each: Run, calls: Calls) -> None:
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
    assert open_ones["plan"] == {
        "accessPattern": "T2 (one status)",
        "index": "byLangAndRating",
        "requests": 1,
    }


@pytest.mark.parametrize(
    ("order", "operations"),
    [
        (None, {"GetItem": 2, "Query": 1}),
        ("NEWEST", {"GetItem": 2, "Query": 1}),
        ("OLDEST", {"GetItem": 3, "Query": 1}),
    ],
)
async def test_a_user_comes_with_the_newest_tickets_alone(
    run_each: Run, calls: Calls, order: str | None, operations: dict[str, int]
) -> None:
    """The user stands beside the newest one."""
    page = await tickets(run_each, Viewer(ADMIN), order=order)
    assert calls.operations == operations
    assert ids(page) == (MINE[:-21:-1] if order == "OLDEST" else MINE[:20])


async def test_a_ticket_by_its_id_is_one_read(run_each: Run, calls: Calls) -> None:
    operation = "query ($id: String!) { ticket(ticketId: $id) { id ticketId } }"
    answer = await run_each(operation, STAFF, id=MINE[0])
    assert answer["data"]["ticket"]["ticketId"] == MINE[0]
    assert calls.operations == {"GetItem": 1}
    gone = await run_each(operation, STAFF, id="gone")
    assert gone == {"data": {"ticket": None}, "errors": []}


async def test_one_request_asks_once_who_is_who(schema: Schema, table: Table) -> None:
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


async def test_the_organisation_of_many_is_read_once(schema: Schema, table: Table) -> None:
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


async def test_what_is_selected_decides_what_is_read(schema: Schema, table: Table) -> None:
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


async def test_global_ids_lead_back(run: Run, stores: Stores) -> None:
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
