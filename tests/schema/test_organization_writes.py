"""The mutations of organisations and tickets: their payloads, and the stored items."""

import asyncio
from typing import Any

import pytest

from dal.model import OrganizationUser, TicketStatus, UserType
from dal.stores import Stores
from resolvers.context import Viewer
from tests.organizations import ACME, OTHER, fill
from tests.schema.conftest import ANN, BOB, STAFF, Run

CREATE = """
mutation ($input: CreateOrganizationInput!) {
  createOrganization(input: $input) {
    organization { name subscriptionPlan users { nodes { username type } } }
    userErrors { field message code }
  }
}
"""
ADD_USER = """
mutation ($input: AddOrganizationUserInput!) {
  addOrganizationUser(input: $input) {
    organizationUser { id username type }
    organizationUserEdge { cursor node { username } }
    userErrors { field message code }
  }
}
"""
OPEN = """
mutation ($input: CreateTicketInput!) {
  createTicket(input: $input) {
    ticket { id ticketId subject text status username authorName organizationName createdAt }
    ticketEdge { cursor node { ticketId } }
    userErrors { field message code }
  }
}
"""
CLOSE = """
mutation ($input: CloseTicketInput!) {
  closeTicket(input: $input) {
    ticket { ticketId status subject }
    ticketEdge { cursor }
    userErrors { field message code }
  }
}
"""
NEW = {"name": "n/ew#", "subscriptionPlan": "Pro"}
TICKET = {"organizationName": ACME.name, "subject": "Cold", "text": "It does not boil."}


@pytest.fixture(autouse=True)
async def stored(stores: Stores) -> None:
    await fill(stores)


async def payload(run: Run, operation: str, *who: Any, **given: object) -> dict[str, Any]:
    answer = await run(operation, *who, input=given)
    assert answer["errors"] == []
    (shown,) = answer["data"].values()
    result: dict[str, Any] = shown
    return result


def faults(shown: dict[str, Any]) -> list[tuple[str | None, str]]:
    """Return the field below the input, and the code, of each user error."""
    assert all(one["field"] is None or one["field"][0] == "input" for one in shown["userErrors"])
    return [
        (error["field"] and ".".join(error["field"][1:]), error["code"])
        for error in shown["userErrors"]
    ]


async def test_the_user_who_creates_an_organisation_is_its_admin(run: Run) -> None:
    first = {"username": "bob"}, {"username": "zoe", "type": "ADMIN"}, {"username": "ann"}
    shown = await payload(run, CREATE, ANN, **NEW, users=first)
    assert shown["userErrors"] == []
    assert shown["organization"] == {
        **NEW,
        "users": {
            "nodes": [
                {"username": "ann", "type": "ADMIN"},
                {"username": "bob", "type": "MEMBER"},
                {"username": "zoe", "type": "ADMIN"},
            ]
        },
    }


async def test_staff_create_organisations_for_others(run: Run) -> None:
    shown = await payload(run, CREATE, STAFF, **NEW, users=[{"username": "ann", "type": "ADMIN"}])
    users = shown["organization"]["users"]["nodes"]
    assert users == [{"username": "ann", "type": "ADMIN"}]


async def test_a_name_that_is_taken_is_a_user_error(run: Run, stores: Stores) -> None:
    shown = await payload(run, CREATE, BOB, name=ACME.name, subscriptionPlan="Free")
    assert shown["organization"] is None
    assert faults(shown) == [(None, "ALREADY_EXISTS")]
    assert await stores.organizations.get(ACME.name) == ACME
    bob = OrganizationUser(ACME.name, "bob")
    assert await stores.organizations.get_user(ACME.name, "bob") == bob


async def test_the_error_of_an_invalid_organisation_has_its_field(run: Run) -> None:
    faulty: list[tuple[str, object]] = [
        ("name", ""),
        ("name", "n\n"),
        ("name", "n" * 513),
        ("subscriptionPlan", "p" * 201),
        ("users", [{"username": "bob"}, {"username": "bob"}]),
        ("users", [{"username": f"user{n}"} for n in range(91)]),
    ]
    for field, value in faulty:
        shown = await payload(run, CREATE, ANN, **{**NEW, field: value})
        assert faults(shown) == [(field, "BAD_ARGUMENT")]
        assert field in shown["userErrors"][0]["message"]
    wrong = {
        "name": "",
        "subscriptionPlan": "p" * 201,
        "users": [{"username": name} for name in ("", "b", "")],
    }
    assert [field for field, _ in faults(await payload(run, CREATE, ANN, **wrong))] == [
        *("name", "subscriptionPlan", "users.0.username", "users.2.username")
    ]


async def test_an_added_user_can_be_read_at_once(run: Run, stores: Stores) -> None:
    given = {"organizationName": ACME.name, "username": "c/arl", "type": "ADMIN"}
    shown = await payload(run, ADD_USER, ANN, **given)
    assert shown["userErrors"] == []
    assert shown["organizationUser"]["type"] == "ADMIN"
    cursor = shown["organizationUserEdge"]["cursor"]
    page = await run(
        "query ($name: String!, $cursor: String) {"
        " organization(organizationName: $name) {"
        " users(last: 1, before: $cursor) { nodes { username } } } }",
        ANN,
        name=ACME.name,
        cursor=cursor,
    )
    assert page["data"]["organization"]["users"]["nodes"] == [{"username": "bob"}]
    carl = OrganizationUser(ACME.name, "c/arl", UserType.ADMIN)
    assert await stores.organizations.get_user(ACME.name, "c/arl") == carl


async def test_users_are_added_once_and_only_to_existing_organisations(run: Run) -> None:
    given = {"organizationName": ACME.name, "username": "bob"}
    assert faults(await payload(run, ADD_USER, ANN, **given)) == [(None, "ALREADY_EXISTS")]
    given = {"organizationName": "gone", "username": "bob"}
    assert faults(await payload(run, ADD_USER, STAFF, **given)) == [(None, "NOT_FOUND")]
    given = {"organizationName": ACME.name, "username": ""}
    assert faults(await payload(run, ADD_USER, ANN, **given)) == [("username", "BAD_ARGUMENT")]


async def test_a_request_reads_the_users_that_it_has_added(run: Run) -> None:
    """Permissions are cached within a request, until the request itself changes them."""
    answer = await run(
        """mutation {
            before: addOrganizationUser(input: {organizationName: "x", username: "c"}) {
                organizationUser { username } userErrors { code } }
            createOrganization(input: {name: "x", subscriptionPlan: "Pro"}) {
                organization { name } }
            after: addOrganizationUser(input: {organizationName: "x", username: "c"}) {
                organizationUser { username } }
        }""",
        ANN,
    )
    assert answer["errors"] == []
    refused = {"organizationUser": None, "userErrors": [{"code": "NOT_FOUND"}]}
    assert answer["data"]["before"] == refused
    assert answer["data"]["after"] == {"organizationUser": {"username": "c"}}


REMOVE = """
mutation ($input: RemoveOrganizationUserInput!) {
  removeOrganizationUser(input: $input) { deletedId userErrors { field message code } }
}
"""
SET_TYPE = """
mutation ($input: SetOrganizationUserTypeInput!) {
  setOrganizationUserType(input: $input) {
    organizationUser { username type } userErrors { field message code } }
}
"""
SET_PLAN = """
mutation ($input: SetSubscriptionPlanInput!) {
  setSubscriptionPlan(input: $input) {
    organization { name subscriptionPlan users { nodes { username } } }
    userErrors { field message code } }
}
"""


async def test_the_last_admin_can_appoint_another_admin_and_leave(run: Run) -> None:
    me = {"organizationName": ACME.name, "username": "ann"}
    bob = {"organizationName": ACME.name, "username": "bob"}
    for operation, change in ((REMOVE, {}), (SET_TYPE, {"type": "MEMBER"})):
        assert faults(await payload(run, operation, ANN, **me, **change)) == [
            ("username", "BAD_ARGUMENT")
        ]
    shown = await payload(run, SET_TYPE, ANN, **bob, type="ADMIN")
    assert shown["organizationUser"] == {"username": "bob", "type": "ADMIN"}
    before = await run(
        "query ($name: String!) { organization(organizationName: $name) {"
        ' user(username: "ann") { id } } }',
        BOB,
        name=ACME.name,
    )
    shown = await payload(run, REMOVE, ANN, **me)
    assert shown["deletedId"] == before["data"]["organization"]["user"]["id"]
    assert faults(await payload(run, REMOVE, ANN, **me)) == [(None, "NOT_FOUND")]
    assert faults(await payload(run, REMOVE, BOB, **me)) == [(None, "NOT_FOUND")]


async def test_staff_can_change_a_subscription_plan_repeatedly(run: Run) -> None:
    plan = {"organizationName": ACME.name, "subscriptionPlan": "Free"}
    for _ in range(2):
        organization = (await payload(run, SET_PLAN, STAFF, **plan))["organization"]
        assert organization["subscriptionPlan"] == "Free"
        assert len(organization["users"]["nodes"]) == 3
    unknown = {**plan, "organizationName": "gone"}
    assert faults(await payload(run, SET_PLAN, STAFF, **unknown)) == [(None, "NOT_FOUND")]
    long = {**plan, "subscriptionPlan": "p" * 201}
    assert faults(await payload(run, SET_PLAN, STAFF, **long)) == [
        ("subscriptionPlan", "BAD_ARGUMENT")
    ]


async def test_a_new_ticket_belongs_to_the_viewer_and_is_the_newest(run: Run) -> None:
    shown = await payload(run, OPEN, BOB, **TICKET)
    ticket = shown["ticket"]
    assert {name: ticket[name] for name in ("subject", "text", "status", "username")} == {
        "subject": "Cold",
        "text": "It does not boil.",
        "status": "OPEN",
        "username": "bob",
    }
    assert ticket["organizationName"] == ACME.name
    page = await run(
        "query ($name: String!, $cursor: String) { organization(organizationName: $name) {"
        ' user(username: "bob") {'
        " tickets(first: 1) { nodes { ticketId } } older: tickets(after: $cursor, last: 100)"
        " { nodes { ticketId } pageInfo { hasNextPage hasPreviousPage } } } } }",
        BOB,
        name=ACME.name,
        cursor=shown["ticketEdge"]["cursor"],
    )
    user = page["data"]["organization"]["user"]
    assert user["tickets"]["nodes"] == [{"ticketId": ticket["ticketId"]}]
    assert len(user["older"]["nodes"]) == 30
    assert user["older"]["pageInfo"] == {"hasNextPage": False, "hasPreviousPage": True}


async def test_a_retry_with_the_idempotency_key_returns_the_same_ticket(run: Run) -> None:
    keyed = {**TICKET, "idempotencyKey": "once"}
    opened = await asyncio.gather(*(payload(run, OPEN, BOB, **keyed) for _ in range(5)))
    assert len({shown["ticket"]["ticketId"] for shown in opened}) == 1
    await payload(run, CLOSE, BOB, id=opened[0]["ticket"]["id"])
    renamed = Viewer(BOB.user_id, name="Bob Z.")
    again = await payload(run, OPEN, renamed, **keyed)
    assert again["ticket"] == {**opened[0]["ticket"], "status": "CLOSED"}
    assert again["ticket"]["authorName"] == "bob"
    named = await payload(run, OPEN, renamed, **TICKET)
    assert (named["ticket"]["username"], named["ticket"]["authorName"]) == ("bob", "Bob Z.")
    other = await payload(run, OPEN, BOB, **{**keyed, "text": "Another."})
    assert faults(other) == [(None, "IDEMPOTENCY_KEY_REUSED")]
    for who, organization in ((ANN, ACME.name), (BOB, OTHER.name)):
        elsewhere = await payload(run, OPEN, who, **{**keyed, "organizationName": organization})
        assert elsewhere["ticket"]["ticketId"] != again["ticket"]["ticketId"]


async def test_the_error_of_an_invalid_ticket_has_its_field(run: Run) -> None:
    faulty = [
        ("idempotencyKey", ""),
        ("subject", "x" * 201),
        ("subject", ""),
        ("subject", " \u200b\u202e"),
        ("text", "\n"),
        ("text", "x" * 10_001),
        ("text", "\ud83d"),
        ("organizationName", ""),
    ]
    for field, value in faulty:
        shown = await payload(run, OPEN, BOB, **{**TICKET, field: value})
        assert faults(shown) == [(field, "BAD_ARGUMENT")]
    shown = await payload(run, OPEN, BOB, organizationName="", subject="", text="")
    assert [field for field, _ in faults(shown)] == ["organizationName", "subject", "text"]


async def test_a_ticket_is_closed_once(run: Run, stores: Stores) -> None:
    ticket = (await payload(run, OPEN, BOB, **TICKET))["ticket"]
    outcomes = await asyncio.gather(
        *(payload(run, CLOSE, who, id=ticket["id"]) for who in (BOB, ANN, STAFF, BOB))
    )
    closed = [shown for shown in outcomes if shown["ticket"]]
    assert [shown["ticket"] for shown in closed] == [
        {"ticketId": ticket["ticketId"], "status": "CLOSED", "subject": "Cold"}
    ]
    assert [faults(shown) for shown in outcomes if not shown["ticket"]] == 3 * [
        [(None, "CONFLICT")]
    ]
    stored = await stores.tickets.get(ticket["ticketId"])
    assert stored is not None
    assert stored.status is TicketStatus.CLOSED


async def test_closing_the_id_of_another_type_is_refused(run: Run) -> None:
    for bad in ("", "nonsense", "T3JnYW5pemF0aW9uOmFj"):
        assert faults(await payload(run, CLOSE, STAFF, id=bad)) == [("id", "BAD_ARGUMENT")]
    gone = "VGlja2V0OmdvbmU="
    assert faults(await payload(run, CLOSE, STAFF, id=gone)) == [(None, "NOT_FOUND")]
