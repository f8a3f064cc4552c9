"""``marginalia load`` of orders, organisations and tickets, and second loads of the same files."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from dal.dynamodb.table import Table
from dal.model import (
    Money,
    Order,
    OrderLine,
    OrderStatus,
    Organization,
    OrganizationUser,
    Ticket,
    TicketStatus,
    UserType,
)
from dal.query.pagination import Slice
from dal.repositories.orders import OrderSelection
from dal.stores import Stores
from tests.features.loading.loading import load
from tests.features.loading.reading import jsonl

CREATED, NOON = "2020-11-20T13:00:00+01:00", datetime(2020, 11, 20, 12, tzinfo=UTC)
LINE = {"product_id": "p", "quantity": 1, "unit_price": "1 EUR"}
TICKET = {
    "id": "1",
    "organization": "a/c",
    "username": "bob",
    "subject": "Cold",
    "text": "It does not boil.",
    "status": "OPEN",
    "created_at": CREATED,
}


def order(order_id: str, status: str = "PLACED", **line: object) -> dict[str, object]:
    lines = [LINE | line]
    given = {"id": order_id, "username": "ada", "status": status}
    return {**given, "created_at": CREATED, "lines": lines}


async def test_orders_are_loaded(tmp_path: Path, table: Table, store: list[str]) -> None:
    stores = Stores(table)
    path = tmp_path / "orders.jsonl"
    rows = [
        order("1", quantity=2, unit_price="12.50 EUR"),
        order("2", "delivered", product_id="q"),
        order("3", unit_price="12.50"),
        order("1", "SHIPPED", quantity=2, unit_price="12.50 EUR"),
    ]
    path.write_text(jsonl(rows))
    for tally in ("2 new, 1 changed, 0 unchanged", "0 new, 1 changed, 2 unchanged"):
        code, output, errors = load(path, store, "--kind", "orders")
        assert (code, output.startswith(f"{path}: {tally}, 1 rejected")) == (1, True)
        (error,) = errors.splitlines()
        assert error.startswith(f"{path}:3: lines.0.unit_price is '12.50';")
        page = await stores.orders.page(OrderSelection("ada"), Slice(10))
        assert [(one.order_id, one.status) for one in page.nodes] == [
            ("2", OrderStatus.DELIVERED),
            ("1", OrderStatus.SHIPPED),
        ]
    lines = (OrderLine("p", 2, Money(Decimal("12.50"), "EUR")),)
    assert await stores.orders.get("1") == Order(
        order_id="1", username="ada", status=OrderStatus.SHIPPED, created_at=NOON, lines=lines
    )
    assert not (await stores.orders.open_page(Slice(10))).edges
    assert (await stores.standings.permission("ada", "q")).bought
    assert not (await stores.standings.permission("ada", "p")).bought


async def test_order_lines_in_a_csv_are_json(
    tmp_path: Path, table: Table, store: list[str]
) -> None:
    path = tmp_path / "orders.csv"
    lines = json.dumps([LINE]).replace('"', '""')
    path.write_text(f'id,user,status,created_at,lines\n7,ada,PLACED,2020-11-20,"{lines}"\n')
    output = f"{path}: 1 new, 0 changed, 0 unchanged, 0 rejected.\n"
    assert load(path, store, "--kind", "orders", "--map", "username=user") == (0, output, "")
    assert await Stores(table).orders.get("7") is not None


async def test_organisations_and_their_tickets_are_loaded(
    tmp_path: Path, table: Table, store: list[str]
) -> None:
    organizations, tickets = tmp_path / "organizations.jsonl", tmp_path / "tickets.jsonl"
    users = [{"username": "bob", "type": "MEMBER"}, {"username": "ann", "type": "ADMIN"}]
    rosters = [
        {"name": "a/c", "subscription_plan": "Pro", "users": users},
        {"name": "b", "subscription_plan": "Pro", "users": [*users, {"username": "bob"}]},
    ]
    organizations.write_text(jsonl(rosters))
    later = {**TICKET, "id": "2", "status": "closed", "created_at": "2021-01-01"}
    tickets.write_text(jsonl([TICKET, later, {**TICKET, "status": "DONE"}]))
    for _ in range(2):
        code, _, errors = load(organizations, store, "--kind", "organizations")
        reason = "users.2 repeats the username 'bob': keep one entry for each user."
        assert (code, errors) == (1, f"{organizations}:2: {reason}\n")
        code, _, errors = load(tickets, store, "--kind", "tickets")
        reason = "status is 'DONE'; it must be one of OPEN, CLOSED."
        assert (code, errors) == (1, f"{tickets}:3: {reason}\n")
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
        created_at=NOON,
    )
    assert await stores.organizations.get("b") is None
