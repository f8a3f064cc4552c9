"""``marginalia invite``: links of due orders, of named orders and of a file; and bad input."""

import csv
import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from features.invitations.commands import COLUMNS
from features.invitations.entity import INVITATION
from features.invitations.model import Invitation
from features.invitations.repository import InvitationRepository
from tests.features.invitations.test_due import deliver, due, listing, opened, shipped
from tests.putting import put_orders
from tests.server.applications import SECRET
from tests.server.serving import AWS, called

SHOP = {
    **AWS,
    "MARGINALIA_JWT_SECRET": SECRET,
    "MARGINALIA_PUBLIC_URL": "https://shop.example",
}
FILE = "order,username,name,products\nx1,ann,Ann B.,p q\nx2,bob,,p\nx1,ann,Ann B.,q r\n"


def rows(text: str) -> list[dict[str, str]]:
    """Return the rows of an output."""
    assert text.partition("\n")[0] == ",".join(COLUMNS)
    return [*csv.DictReader(StringIO(text))]


def files(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


def ids(text: str) -> list[str]:
    return [one["order"] for one in rows(text)]


@pytest.fixture
async def stores(table: Table) -> Stores:
    """A table in which the customers of three orders wait for a link."""
    stores = listing(table)
    await put_orders(table, [shipped(number) for number in (3, 1, 2)])
    for number in (3, 1, 2):
        await deliver(stores, number)
    return stores


async def test_due_orders_are_printed_once(stores: Stores, store: list[str]) -> None:
    kept = called("invite", "--keep", *store, **SHOP)
    first = called("invite", "--incentive", "5 EUR", *store, **SHOP)
    assert (first.returncode, first.stderr) == (0, "3 orders, 3 links.\n")
    assert ids(kept.stdout) == ids(first.stdout) == ["o3", "o1", "o2"]
    one = rows(first.stdout)[0]
    found = await opened(one["url"])
    assert (found.order_id, found.username, found.incentive) == ("o3", "ann", "5 EUR")
    assert (one["username"], one["products"]) == ("ann", "p q")
    assert one["expires"] == f"{found.expires_at:%Y-%m-%dT%H:%M:%SZ}"
    again = called("invite", *store, **SHOP)
    assert (again.returncode, again.stdout) == (0, f"{','.join(COLUMNS)}\n")
    assert await due(stores) == []


async def test_an_order_with_ids_that_are_too_long_stops_no_other(
    stores: Stores, store: list[str]
) -> None:
    long = "\u6f22" * 170
    poison = Invitation(long, "ann", (long,), long, datetime.now(UTC) - timedelta(days=1))
    await stores.table.put_many([INVITATION.encode(poison)])
    printed = called("invite", *store, **SHOP)
    assert (printed.returncode, ids(printed.stdout)) == (0, ["o3", "o1", "o2"])
    assert long[:40] in printed.stderr
    assert await due(stores) == [long]


async def test_orders_wait_for_some_days(stores: Stores, store: list[str]) -> None:
    old = Invitation("o0", "ann", ("p",), None, datetime.now(UTC) - timedelta(days=8))
    await stores.table.put_many([INVITATION.encode(old)])
    assert ids(called("invite", "--wait", "7", *store, **SHOP).stdout) == ["o0"]
    assert await due(stores) == ["o3", "o1", "o2"]


async def test_named_orders_are_printed_whether_due_or_not(
    stores: Stores, store: list[str]
) -> None:
    await put_orders(stores.table, [shipped(4)])
    for _ in range(2):
        printed = called("invite", "--order", "o4", "--order", "o1", *store, **SHOP)
        assert (printed.returncode, ids(printed.stdout)) == (0, ["o4", "o1"])
    await deliver(stores, 4)
    assert await due(stores) == ["o3", "o2"]


async def test_an_interruption_loses_no_order(stores: Stores, store: list[str]) -> None:
    """Each order is printed before it is marked, so its row is the last one."""
    mark, calls = InvitationRepository.mark, 0

    async def interrupted(self: InvitationRepository, *given: Any, **named: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        await mark(self, *given, **named)

    with patch.object(InvitationRepository, "mark", interrupted):
        ended = called("invite", *store, **SHOP)
    assert (ended.returncode, ids(ended.stdout)) == (130, ["o3", "o1"])
    assert ids(called("invite", *store, **SHOP).stdout) == ["o1", "o2"]


async def test_an_output_file_is_written_whole_or_not_at_all(
    stores: Stores, store: list[str], tmp_path: Path
) -> None:
    """No order is marked before the file is complete."""
    output, url = tmp_path / "links.csv", InvitationRepository.get

    async def failing(self: InvitationRepository, username: str, order_id: str) -> Any:
        if order_id == "o2":
            raise KeyboardInterrupt
        return await url(self, username, order_id)

    with patch.object(InvitationRepository, "get", failing):
        ended = called("invite", "--output", output, *store, **SHOP)
    assert (ended.returncode, files(tmp_path)) == (130, [])
    assert len(await due(stores)) == 3
    written = called("invite", "--output", output, *store, **SHOP)
    assert (written.returncode, written.stdout) == (0, "")
    assert ids(output.read_text()) == ["o3", "o1", "o2"]
    assert output.stat().st_mode & 0o777 == 0o600
    assert await due(stores) == []
    assert called("invite", "--output", output, *store, **SHOP).returncode == 2


async def test_a_file_of_orders_needs_no_table(tmp_path: Path) -> None:
    source = tmp_path / "orders.csv"
    source.write_text(FILE)
    printed = called("invite", "--from", source, "--days", "3", **SHOP)
    assert (printed.returncode, printed.stderr) == (0, "2 orders, 2 links.\n")
    first, second = rows(printed.stdout)
    assert (first["order"], first["name"], first["products"]) == ("x1", "Ann B.", "p q r")
    assert (second["order"], second["name"], second["products"]) == ("x2", "", "p")
    found = await opened(first["url"])
    assert (found.name, found.products) == ("Ann B.", ("p", "q", "r"))


async def test_the_links_of_an_order_are_revoked(stores: Stores, store: list[str]) -> None:
    ended = called("invite", "--revoke", "o1", *store, **SHOP)
    assert (ended.returncode, ended.stderr) == (0, "")
    found = await stores.invitations.get("ann", "o1")
    assert found is not None
    assert found.revoked_at is not None
    assert called("invite", "--revoke", "x1", "--user", "bob", *store, **SHOP).returncode == 0
    assert await stores.invitations.get("bob", "x1") is not None
    assert await due(stores) == ["o3", "o2"]


async def test_a_customers_data_contains_invitations(stores: Stores, store: list[str]) -> None:
    exported = called("user", "export", "ann", *store, **AWS)
    found = json.loads(exported.stdout)["invitations"]
    assert {one["orderId"]: one["products"] for one in found} == {
        order: ["p", "q"] for order in ("o1", "o2", "o3")
    }
    assert await due(stores) == ["o3", "o1", "o2"]
