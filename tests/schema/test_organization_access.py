"""Who may see and do what of organisations and tickets: every path, for every role."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from strawberry import Schema
from strawberry.relay.utils import to_base64

from dal.client.table import Table
from dal.entities.organization import organization_key, user_key
from dal.model.key_parts import escape
from dal.stores import Stores
from resolvers.context import Viewer
from tests.conftest import Clients, fresh_table
from tests.organizations import ACME, ADMIN, COLLEAGUE, MEMBER, OUTSIDER, TICKETS, fill
from tests.schema.conftest import MODERATOR, STAFF, Answer, Run, looks_missing, runner
from tests.schema.ordering import codes
from tests.schema.paths import asked_by, leading_to

ROLES: dict[str, Viewer | None] = {
    "nobody": None,
    "stranger": Viewer("zed"),
    "outsider": Viewer(OUTSIDER),
    "moderator": MODERATOR,
    "colleague": Viewer(COLLEAGUE),
    "member": Viewer(MEMBER),
    "admin": Viewer(ADMIN),
    "staff": STAFF,
}
"""All paths lead to what is a member's; a colleague is of the same organisation."""

PRIVATE = {
    *("Organization", "OrganizationUser", "OrganizationUserConnection", "OrganizationUserEdge"),
    *("Ticket", "TicketConnection", "TicketEdge"),
}
MEMBERS = {"colleague", "member", "admin", "staff"}
OWN = {"member", "admin", "staff"}
ADMINS = {"admin", "staff"}

TICKET = TICKETS[0]
ORGANIZATION_ID = to_base64("Organization", ACME.name)
USER_ID = to_base64("OrganizationUser", f"{escape(ACME.name)}/{MEMBER}")
TICKET_ID = to_base64("Ticket", TICKET.ticket_id)
NODE_IDS = (ORGANIZATION_ID, USER_ID)
MISSING = {
    ACME.name: "gone",
    TICKET.ticket_id: "gone",
    ORGANIZATION_ID: to_base64("Organization", "gone"),
    USER_ID: to_base64("OrganizationUser", "gone/gone"),
    TICKET_ID: to_base64("Ticket", "gone"),
}
"""What stands in an operation for what is not there."""
NAME = f'organizationName: "{ACME.name}"'
USER = f'user(username: "{MEMBER}")'


@dataclass(frozen=True)
class Row:
    """An operation and the roles that may do it; what it shows when it is done, and else never."""

    operation: str
    allowed: set[str]
    shows: str = TICKET.subject


MATRIX = {
    "organization": Row(
        f"{{ organization({NAME}) {{ id subscriptionPlan }} }}", MEMBERS, ACME.subscription_plan
    ),
    "organization.users.nodes": Row(
        f"{{ organization({NAME}) {{ users {{ nodes {{ username }} }} }} }}", MEMBERS, ADMIN
    ),
    "organization.users.edges": Row(
        f"{{ organization({NAME}) {{ users(last: 9) {{ edges {{ cursor node {{ type }} }} }} }} }}",
        MEMBERS,
        "MEMBER",
    ),
    "organization.user": Row(
        f"{{ organization({NAME}) {{ {USER} {{ id type }} }} }}", MEMBERS, "MEMBER"
    ),
    "organization.user.tickets.nodes": Row(
        f"{{ organization({NAME}) {{ {USER} {{ tickets {{ nodes {{ subject }} }} }} }} }}", OWN
    ),
    "organization.user.tickets.edges": Row(
        f"{{ organization({NAME}) {{ {USER} {{"
        " tickets(last: 100) { edges { cursor node { subject } } } } } }",
        OWN,
    ),
    "organization.user.tickets by status": Row(
        f"{{ organization({NAME}) {{ {USER} {{ tickets(status: OPEN) {{"
        " nodes { subject } } } } }",
        OWN,
    ),
    "organization.user.tickets.pageInfo": Row(
        f"{{ organization({NAME}) {{ {USER} {{ tickets {{ pageInfo {{ endCursor }} }} }} }} }}",
        OWN,
        "endCursor",
    ),
    "organization.users.nodes.tickets": Row(
        f"{{ organization({NAME}) {{ users(last: 1) {{ nodes {{ tickets {{"
        " nodes { subject } } } } } }",
        OWN,
    ),
    "organization.users.edges.node.tickets": Row(
        f"{{ organization({NAME}) {{ users(last: 1) {{ edges {{ node {{ tickets {{"
        " edges { node { subject } } } } } } } }",
        OWN,
    ),
    "ticket": Row(f'{{ ticket(ticketId: "{TICKET.ticket_id}") {{ subject }} }}', OWN),
    "ticket.organization": Row(
        f'{{ ticket(ticketId: "{TICKET.ticket_id}") {{ organization {{ subscriptionPlan }} }} }}',
        OWN,
        ACME.subscription_plan,
    ),
    "ticket.author": Row(
        f'{{ ticket(ticketId: "{TICKET.ticket_id}") {{ author {{ username }} }} }}', OWN, MEMBER
    ),
    "node(OrganizationUser).organization": Row(
        f'{{ node(id: "{USER_ID}") {{ ... on OrganizationUser {{'
        " organization { subscriptionPlan users { nodes { type } } } } } }",
        MEMBERS,
        ACME.subscription_plan,
    ),
    "node(Organization)": Row(
        f'{{ node(id: "{ORGANIZATION_ID}") {{ ... on Organization {{ subscriptionPlan }} }} }}',
        MEMBERS,
        ACME.subscription_plan,
    ),
    "node(Organization).users": Row(
        f'{{ node(id: "{ORGANIZATION_ID}") {{ ... on Organization {{'
        " users { nodes { username } } } } }",
        MEMBERS,
        ADMIN,
    ),
    "node(Organization).user.tickets": Row(
        f'{{ node(id: "{ORGANIZATION_ID}") {{ ... on Organization {{ {USER} {{'
        " tickets { nodes { subject } } } } } }",
        OWN,
    ),
    "node(OrganizationUser)": Row(
        f'{{ node(id: "{USER_ID}") {{ ... on OrganizationUser {{ username type }} }} }}',
        MEMBERS,
        "MEMBER",
    ),
    "node(OrganizationUser).tickets": Row(
        f'{{ node(id: "{USER_ID}") {{ ... on OrganizationUser {{'
        " tickets { nodes { subject } } } } }",
        OWN,
    ),
    "node(Ticket)": Row(f'{{ node(id: "{TICKET_ID}") {{ ... on Ticket {{ subject }} }} }}', OWN),
    "nodes(Ticket)": Row(
        f'{{ nodes(ids: ["{TICKET_ID}"]) {{ ... on Ticket {{ subject }} }} }}', OWN
    ),
    "nodes(Organization)": Row(
        f'{{ nodes(ids: ["{ORGANIZATION_ID}"]) {{ ... on Organization {{ subscriptionPlan }} }} }}',
        MEMBERS,
        ACME.subscription_plan,
    ),
    "closeTicket": Row(
        f'mutation {{ closeTicket(input: {{id: "{TICKET_ID}"}}) {{ ticket {{ subject }}'
        " ticketEdge { cursor node { subject } } } }",
        OWN,
    ),
    "addOrganizationUser": Row(
        "mutation { addOrganizationUser("
        f'input: {{organizationName: "{ACME.name}", username: "new"}})'
        " { organizationUser { type } organizationUserEdge { node { type } } } }",
        ADMINS,
        "MEMBER",
    ),
    "addOrganizationUser, refused": Row(
        f'mutation {{ addOrganizationUser(input: {{organizationName: "{ACME.name}",'
        f' username: "{MEMBER}"}}) {{ userErrors {{ code }} }} }}',
        ADMINS,
        "ALREADY_EXISTS",
    ),
    "createTicket": Row(
        "mutation { createTicket("
        f'input: {{organizationName: "{ACME.name}", subject: "S", text: "T"}})'
        " { ticket { status } ticketEdge { node { status } } } }",
        {"colleague", "member", "admin"},
        "OPEN",
    ),
    "createOrganization": Row(
        'mutation { createOrganization(input: {name: "new", subscriptionPlan: "Pro"})'
        " { organization { subscriptionPlan } } }",
        set(ROLES) - {"nobody"},
        "Pro",
    ),
}


@pytest.fixture(scope="module")
async def table(clients: Clients, dynoxide_url: str) -> Table:
    """One table for the whole matrix."""
    return await fresh_table(clients, dynoxide_url)


@dataclass
class World:
    """The same for each test; what was written to is made anew for the next one."""

    table: Table
    intact: bool = False

    async def restore(self) -> None:
        if not self.intact:
            await fill(Stores(self.table))
            made = (organization_key("new"), user_key(ACME.name, "new"))
            await self.table.write([{"Delete": {"Key": key}} for key in made])
            self.intact = True


@pytest.fixture(scope="module")
def world(table: Table) -> World:
    return World(table)


@pytest.fixture
async def run(schema: Schema, world: World) -> Run:
    """Execute operations over the same world each time."""
    await world.restore()
    execute = runner(schema, Stores(world.table))

    async def run(operation: str, *arguments: Any, **variables: Any) -> Answer:
        if operation.startswith("mutation"):
            world.intact = False
        return await execute(operation, *arguments, **variables)

    return run


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("field", MATRIX)
async def test_each_role_gets_what_it_may_and_nothing_else(run: Run, field: str, role: str) -> None:
    row = MATRIX[field]
    answer = await run(row.operation, ROLES[role])
    if role in row.allowed:
        assert answer["errors"] == []
        assert row.shows in json.dumps(answer["data"])
    else:
        assert codes(answer) == refusals(row, role)
        assert row.shows not in json.dumps(answer)


def refusals(row: Row, role: str) -> list[str]:
    """Return the errors of a refusal: what is not even seen is missing without one."""
    if ROLES[role] is None:
        return ["UNAUTHENTICATED"]
    of_organization = any(one in row.operation for one in (NAME, ACME.name, *NODE_IDS))
    return ["FORBIDDEN"] if role in {"colleague", "member"} and of_organization else []


@pytest.mark.parametrize("role", ["nobody", "stranger", "outsider", "moderator"])
@pytest.mark.parametrize("field", sorted(MATRIX.keys() - {"createOrganization"}))
async def test_what_is_not_seen_looks_as_if_it_were_not_there(
    run: Run, schema: Schema, world: World, field: str, role: str
) -> None:
    del run  # it has put the world in order
    await looks_missing(schema, world.table, MATRIX[field].operation, ROLES[role], MISSING)


def test_every_field_that_leads_to_what_is_private_is_in_the_matrix(schema: Schema) -> None:
    leading = leading_to(schema, PRIVATE)
    assert len(leading) > 15
    assert leading <= asked_by(schema, (row.operation for row in MATRIX.values()))


async def test_who_a_user_is_beyond_its_name_is_seen_by_that_user_and_staff(run: Run) -> None:
    seeing = set()
    for role, viewer in ROLES.items():
        answer = await run(
            f"{{ organization({NAME}) {{ {USER} {{"
            " username user { id profile { email } } } } }",
            viewer,
        )
        found = (answer["data"]["organization"] or {}).get("user")
        if found and found["user"]:
            seeing.add(role)
    assert seeing == {"member", "staff"}


async def test_who_left_no_longer_sees_the_own_tickets(run: Run, world: World) -> None:
    world.intact = False
    await world.table.write([{"Delete": {"Key": user_key(ACME.name, MEMBER)}}])
    for field in ("ticket", "node(Ticket)", "organization", "createTicket"):
        answer = await run(MATRIX[field].operation, ROLES["member"])
        (shown,) = answer["data"].values()
        assert answer["errors"] == []
        assert shown in (None, {"ticket": None, "ticketEdge": None})


async def test_among_many_nodes_only_the_refused_are_null(run: Run) -> None:
    ids = [ORGANIZATION_ID, TICKET_ID, USER_ID, to_base64("Ticket", "gone")]
    answer = await run(
        "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", ROLES["colleague"], ids=ids
    )
    assert answer["data"]["nodes"] == [{"id": ORGANIZATION_ID}, None, {"id": USER_ID}, None]
    assert answer["errors"] == []
