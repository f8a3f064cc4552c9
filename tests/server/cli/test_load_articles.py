"""``marginalia load`` of what people have who built the articles' tables."""

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dal.model import Comment, OrderStatus, TicketStatus, UserType
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.statistics.maintenance_mode import create_table
from dal.stores import Stores
from dal.table.client import Table
from dal.table.item import Item
from tests import oracle
from tests.server.cli.workbench_file import FILE as WORKBENCH
from tests.server.importer import articles
from tests.server.serving import called

AWS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "local",
}
COMMENTS = articles.comments(240, seed=14)

Load = Callable[..., tuple[int, str, str]]


@pytest.fixture
def other(table: Table) -> Table:
    """Another table of the same engine, not created yet."""
    return Table(table._client, f"articles-{uuid.uuid4().hex}")


@pytest.fixture
def load(table: Table, dynoxide_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Runs a load into the fresh table; rejects land in the test's directory."""
    monkeypatch.chdir(tmp_path)
    place = ["--endpoint-url", dynoxide_url, "--table", table.name]

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        ended = called("load", *arguments, *place, **AWS)
        return ended.returncode, ended.stdout, ended.stderr

    return run


async def paged_against_the_oracle(stores: Stores, expected: list[Comment]) -> None:
    for product in ("42", "43"):
        for selection in (
            Selection(product),
            Selection(product, languages=frozenset({"en"})),
            Selection(product, frozenset({2, 5})),
            Selection(product, frozenset({1, 5}), frozenset({"en", "pt-BR"})),
        ):
            for backward in (False, True):
                rows = await oracle.walk(stores.comments, selection, 30, backward=backward)
                assert rows == oracle.selected(expected, selection)


@pytest.mark.parametrize("packing", ["plain", "map", "json", "bytes"])
async def test_comments_of_the_second_article_page_as_the_oracle_says(
    packing: str, table: Table, other: Table, load: Load
) -> None:
    await articles.create(other)
    await other.put_many([articles.item(one, packing) for one in COMMENTS])
    await other.put_many(
        [
            {"PK": {"S": "PRODUCT#42"}, "SK": {"S": "S"}, "count_5": {"N": "7"}},
            {"PK": {"S": "PRODUCT#42"}, "SK": {"S": "S#en"}, "count_total": {"N": "9"}},
            {"PK": {"S": "BASKET#1"}, "SK": {"S": "LINE#1"}},
        ]
    )
    code, said, errors = load("--from-table", other.name)
    assert (code, errors) == (0, "")
    for counted in (
        "1 as PRODUCT#… / S (statistics, which are counted anew)",
        "1 as PRODUCT#… / S#… (statistics, which are counted anew)",
        "1 as BASKET#… / LINE#…",
    ):
        assert counted in said
    assert f"{other.name}: 240 new, 0 changed, 0 unchanged, 0 rejected." in said
    expected = [
        one._replace(created_at=articles.seen(one.created_at, minutes=True)) for one in COMMENTS
    ]
    await paged_against_the_oracle(Stores(table), expected)


async def test_comments_of_the_first_article_come_once(
    table: Table, other: Table, load: Load, dynoxide_url: str
) -> None:
    await articles.create(other, articles.COPIES, ("pk", "sk"))
    await other.put_many([copy for one in COMMENTS for copy in articles.copies(one)])
    code, said, _ = load("--from-table", other.name, "--from-endpoint-url", dynoxide_url)
    assert code == 0
    assert "480 as COMMENT#… / PRODUCT#… (copies of comments)" in said
    await paged_against_the_oracle(Stores(table), COMMENTS)


async def test_bad_items_are_set_aside_and_load_once_mended(
    table: Table, other: Table, load: Load, tmp_path: Path
) -> None:
    await articles.create(other)
    first, second, third = COMMENTS[:3]
    sealed = articles.item(second, "plain") | {"data": {"B": b"\x08\x96\xff"}}
    for name in ("title", "text", "username"):
        del sealed[name]
    late = articles.item(third, "json") | {"rating": {"S": "9"}}
    await other.put_many([articles.item(first, "json"), sealed, late])
    code, said, errors = load("--from-table", other.name)
    assert code == 1
    assert "1 new, 0 changed, 0 unchanged, 2 rejected, see" in said
    assert "username is missing." in errors
    assert "rating is 9; it goes from 1 to 5." in errors
    rejects = tmp_path / f"{other.name}.rejects.jsonl"
    entries = [json.loads(line) for line in rejects.read_text().splitlines()]
    packed = next(entry["row"] for entry in entries if "data" in entry["row"])
    assert packed["data"] == "3 bytes that are no text"
    rejects.write_text(rejects.read_text().replace('"rating": "9"', '"rating": 4'))
    code, said, _ = load(rejects)
    assert "1 new, 0 changed, 0 unchanged, 1 rejected, see" in said
    assert await Stores(table).comments.get(third.comment_id) is not None


async def test_orders_with_lines_in_items_of_their_own(
    table: Table, other: Table, load: Load
) -> None:
    await articles.create(other, articles.ORDERS)
    items: list[Item] = [
        {"PK": {"S": "USER#alex"}, "SK": {"S": "PROFILE#alex"}, "FullName": {"S": "Alex D."}},
        _order("1", "PLACED", "01.02.2023") | {"PlacedId": {"S": "1"}},
        _order("2", "SHIPPED", "2023-01-02T10:00:00"),
        _order("3", "SHIPPED", "05.01.2023")
        | {
            "Items": {
                "L": [
                    {
                        "M": {
                            "ProductId": {"S": "tea"},
                            "Qty": {"N": "3"},
                            "Price": {"S": "2.50 EUR"},
                        }
                    }
                ]
            }
        },
        _line("kettle", "1"),
        _line("cup", "1"),
        _line("kettle", "2"),
    ]
    await other.put_many(items)
    code, said, errors = load("--from-table", other.name, "--kind", "orders")
    assert (code, errors) == (0, "")
    assert "3 as ITEM#… / ORDER#… (lines of orders)" in said
    assert "1 as USER#… / PROFILE#… (profiles)" in said
    stores = Stores(table)
    first, second, third = [await stores.orders.get(number) for number in "123"]
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.status is OrderStatus.PLACED
    assert first.created_at == datetime(2023, 2, 1, tzinfo=UTC)
    assert {line.product_id for line in first.lines} == {"kettle", "cup"}
    assert str(first.total) == "31.00 EUR"
    assert second.created_at == datetime(2023, 1, 2, 10, tzinfo=UTC)
    assert [(line.product_id, line.quantity) for line in third.lines] == [("tea", 3)]
    code, said, _ = load("--from-table", other.name, "--kind", "profiles")
    assert code == 0
    profile = await stores.users.profile("alex")
    assert profile is not None
    assert profile.full_name == "Alex D."


def _order(number: str, status: str, date: str) -> Item:
    return {
        "PK": {"S": "USER#alex"},
        "SK": {"S": f"ORDER#{number}"},
        "OrderStatusDate": {"S": f"{status}#{date}"},
    }


def _line(product: str, order: str) -> Item:
    return {
        "PK": {"S": f"ITEM#{product}"},
        "SK": {"S": f"ORDER#{order}"},
        "Quantity": {"N": "1"},
        "Price": {"N": "15.50"},
        "Currency": {"S": "EUR"},
    }


async def test_organizations_and_tickets_of_the_book(
    table: Table, other: Table, load: Load
) -> None:
    await articles.create(other, articles.TICKETS, ("pk", "sk"))
    await other.put_many(
        [
            _keyed(
                "ORG#MICROSOFT", "METADATA#MICROSOFT", OrgName="Microsoft", PlanType="Enterprise"
            ),
            _keyed("ORG#MICROSOFT", "USER#BILLGATES", UserName="Bill Gates", UserType="Member"),
            _keyed("ORG#MICROSOFT", "USER#SATYANADELLA", UserName="Satya", UserType="Admin"),
            _keyed("ORG#AMAZON", "METADATA#AMAZON", OrgName="Amazon", PlanType="Pro"),
            *(
                _keyed(
                    f"TICKET#{number}",
                    f"TICKET#{number}",
                    CreatedDate=f"{year}-09-05 22:31:54",
                    GSI1PK="ORG#MICROSOFT#USER#BILLGATES",
                    GSI1SK=f"TICKET#{number}",
                )
                for number, year in (("123", 2023), ("456", 2024))
            ),
        ]
    )
    code, said, errors = load("--from-table", other.name, "--kind", "organizations")
    assert (code, errors) == (0, "")
    assert f"{other.name}: 2 new, 0 changed, 0 unchanged, 0 rejected" in said
    sets = [
        part for one in ("subject=(none)", "text=(none)", "status=OPEN") for part in ("--set", one)
    ]
    code, said, errors = load("--from-table", other.name, "--kind", "tickets", *sets)
    assert (code, errors) == (0, "")
    stores = Stores(table)
    organization, users = await stores.organizations.with_users("MICROSOFT", Slice(10))
    assert organization is not None
    assert organization.subscription_plan == "Enterprise"
    assert [(one.username, one.type) for one in users.nodes] == [
        ("BILLGATES", UserType.MEMBER),
        ("SATYANADELLA", UserType.ADMIN),
    ]
    user, tickets = await stores.tickets.with_user("MICROSOFT", "BILLGATES", Slice(10))
    assert user is not None
    assert [(one.ticket_id, one.status) for one in tickets.nodes] == [
        ("456", TicketStatus.OPEN),
        ("123", TicketStatus.OPEN),
    ]


def _keyed(partition: str, sort: str, **values: str) -> Item:
    return {name: {"S": value} for name, value in {"pk": partition, "sk": sort, **values}.items()}


async def test_a_model_of_nosql_workbench(table: Table, load: Load, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    first, second = COMMENTS[:9], COMMENTS[9:18]
    old = articles.model_table(
        ("pk", "sk"), ("sk", "cd"), [copy for one in first for copy in articles.copies(one)]
    )
    bare = [articles.item(one, "json") for one in second]
    for item in bare:  # as the model on offer has them
        del item["data"]
    new = articles.model_table(("PK", "SK"), ("GSI4PK", "GSISK"), bare)
    file.write_text(json.dumps(articles.model(old, new)))
    sets = [part for one in ("username=ann", "title=T", "text=(none)") for part in ("--set", one)]
    code, said, errors = load(file, *sets)
    assert (code, errors) == (0, "")
    assert f"{file}: 18 new, 0 changed, 0 unchanged, 0 rejected" in said
    expected = [
        one._replace(
            username="ann",
            title="T",
            text="(none)",
            created_at=articles.seen(one.created_at, minutes=one in second),
        )
        for one in (*first, *second)
    ]
    await paged_against_the_oracle(Stores(table), expected)


async def test_what_cannot_be_read_is_told_in_a_sentence(
    table: Table, other: Table, load: Load, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.json"
    cut.write_text('{"ModelName": "x", "ModelMetadata": {}, "DataModel": [{"TableName": "t"}]}')
    own = Table(table._client, f"own-{uuid.uuid4().hex}")
    await create_table(own)
    refused = {
        ("--from-table", table.name): "is the table to load into",
        ("--from-table", own.name): "use `marginalia export`",
        ("--from-table", other.name): "to load from is not there, or may not be read by you",
        (WORKBENCH,): "is laid out as Marginalia's own table: use `marginalia export`",
        (cut,): "is not a whole data model of NoSQL Workbench",
        (): "name a file, or a table with --from-table",
        (cut, "--from-table", other.name): "is a file beside --from-table: leave one of them out",
        (cut, "--from-endpoint-url", "http://127.0.0.1:9"): "--from-endpoint-url is for a table",
    }
    for arguments, sentence in refused.items():
        code, _, errors = load(*arguments)
        assert code == 1
        assert sentence in errors
        assert "Traceback" not in errors
