"""``marginalia load`` of organisations and tickets, as a person runs it."""

from datetime import UTC, datetime
from pathlib import Path

from dal.client.table import Table
from dal.model import Organization, OrganizationUser, Ticket, TicketStatus, UserType
from dal.query.pagination import Slice
from dal.stores import Stores
from tests.server.importer.reading import jsonl
from tests.server.serving import called

AWS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "local",
}
TICKET = {
    "id": "1",
    "organization": "a/c",
    "username": "bob",
    "subject": "Cold",
    "text": "It does not boil.",
    "status": "OPEN",
    "created_at": "2020-11-20T13:00:00+01:00",
}


async def test_organisations_and_their_tickets_load_and_load_again(
    tmp_path: Path, table: Table, dynoxide_url: str
) -> None:
    options = ("--endpoint-url", dynoxide_url, "--table", table.name)
    organizations, tickets = tmp_path / "organizations.jsonl", tmp_path / "tickets.jsonl"
    users = [{"username": "bob", "type": "MEMBER"}, {"username": "ann", "type": "ADMIN"}]
    organizations.write_text(
        jsonl(
            [
                {"name": "a/c", "subscription_plan": "Pro", "users": users},
                {"name": "b", "subscription_plan": "Pro", "users": [*users, {"username": "bob"}]},
            ]
        )
    )
    later = {**TICKET, "id": "2", "status": "closed", "created_at": "2021-01-01"}
    tickets.write_text(jsonl([TICKET, later, {**TICKET, "status": "DONE"}]))
    for _ in range(2):
        ended = called("load", organizations, "--kind", "organizations", *options, **AWS)
        assert ended.returncode == 1
        assert ended.stderr.splitlines() == [
            f"{organizations}:2: users.2 has the username of an earlier one."
        ]
        ended = called("load", tickets, "--kind", "tickets", *options, **AWS)
        assert ended.returncode == 1
        assert ended.stderr.splitlines() == [
            f"{tickets}:3: status is 'DONE'; it must be one of OPEN, CLOSED."
        ]
    stores = Stores(table)
    organization, page = await stores.organizations.with_users("a/c", Slice(10))
    assert organization == Organization("a/c", "Pro")
    ann, bob = OrganizationUser("a/c", "ann", UserType.ADMIN), OrganizationUser("a/c", "bob")
    assert page.nodes == [ann, bob]
    user, listed = await stores.tickets.with_user("a/c", "bob", Slice(10))
    assert user == bob
    assert [(one.ticket_id, one.status) for one in listed.nodes] == [
        ("2", TicketStatus.CLOSED),
        ("1", TicketStatus.OPEN),
    ]
    assert await stores.tickets.get("1") == Ticket(
        ticket_id="1",
        organization="a/c",
        username="bob",
        subject="Cold",
        text="It does not boil.",
        created_at=datetime(2020, 11, 20, 12, tzinfo=UTC),
    )
    assert await stores.organizations.get("b") is None
