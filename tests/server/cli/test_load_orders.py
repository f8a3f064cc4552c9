"""``marginalia load --kind orders`` as a person runs it."""

import json
from decimal import Decimal
from pathlib import Path

from dal.client.table import Table
from dal.model import Money, Order, OrderLine, OrderStatus
from dal.query.pagination import Slice
from dal.repositories.orders import OrderSelection
from dal.stores import Stores
from server.importer.instants import instant
from tests.server.importer.reading import jsonl
from tests.server.serving import called

AWS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "local",
}
CREATED = "2020-11-20T13:00:00+01:00"


def row(order_id: str, **changes: object) -> dict[str, object]:
    return {
        "id": order_id,
        "username": "ada",
        "status": "PLACED",
        "created_at": CREATED,
        "lines": [{"product_id": "p", "quantity": 2, "unit_price": "12.50 EUR"}],
        **changes,
    }


async def test_orders_load_and_load_again(tmp_path: Path, table: Table, dynoxide_url: str) -> None:
    stores = Stores(table)
    path = tmp_path / "orders.jsonl"
    rows = [
        row("1"),
        row("2", status="delivered", lines=[{**line(), "product_id": "q"}]),
        row("3", lines=[{**line(), "unit_price": "12.50"}]),
        row("1", status="SHIPPED"),
    ]
    path.write_text(jsonl(rows))
    options = ("--kind", "orders", "--endpoint-url", dynoxide_url, "--table", table.name)
    for tally in ("2 new, 1 changed, 0 unchanged", "0 new, 1 changed, 2 unchanged"):
        ended = called("load", path, *options, **AWS)
        assert ended.returncode == 1
        assert ended.stdout.startswith(f"{path}: {tally}, 1 rejected")
        assert ended.stderr.splitlines() == [
            f"{path}:3: lines.0.unit_price is '12.50'; it must be an amount such as '12.50 EUR'."
        ]
        page = await stores.orders.page(OrderSelection("ada"), Slice(10))
        assert [(one.order_id, one.status) for one in page.nodes] == [
            ("2", OrderStatus.DELIVERED),
            ("1", OrderStatus.SHIPPED),
        ]
    assert await stores.orders.get("1") == Order(
        order_id="1",
        username="ada",
        status=OrderStatus.SHIPPED,
        created_at=instant("created_at", CREATED),
        lines=(OrderLine("p", 2, Money(Decimal("12.50"), "EUR")),),
    )
    assert not (await stores.orders.open_page(Slice(10))).edges
    assert await stores.users.received("ada", "q")
    assert not await stores.users.received("ada", "p")


def line() -> dict[str, object]:
    return {"product_id": "p", "quantity": 1, "unit_price": "1 EUR"}


async def test_a_csv_has_the_lines_as_json(tmp_path: Path, table: Table, dynoxide_url: str) -> None:
    path = tmp_path / "orders.csv"
    lines = json.dumps([line()]).replace('"', '""')
    path.write_text(f'id,user,status,created_at,lines\n7,ada,PLACED,2020-11-20,"{lines}"\n')
    options = ("--kind", "orders", "--endpoint-url", dynoxide_url, "--table", table.name)
    ended = called("load", path, *options, "--map", "username=user", **AWS)
    assert (ended.returncode, ended.stdout) == (
        0,
        f"{path}: 1 new, 0 changed, 0 unchanged, 0 rejected.\n",
    )
    assert await Stores(table).orders.get("7") is not None
