"""Orders in GraphQL: each access pattern with its number of Queries, and boundary values."""

import pytest

from dal.dynamodb.table import Table
from dal.model import OrderStatus
from tests.calls import calls_of
from tests.dal.read_pages import ReadPages
from tests.putting import put_orders
from tests.schema.conftest import ANN, STAFF, Run
from tests.schema.ordering import LINES, ORDERS, PAGE, SET, codes, euros, listed, placed
from tests.strategies import TIES, order

MANY = [
    order(f"{status[0]}{n}", username="ann", status=status, created_at=day)
    for status in OrderStatus
    for n, day in enumerate(TIES)
]


@pytest.mark.parametrize(
    ("variables", "pattern", "index", "queries", "ids"),
    [
        ({}, "A2", "byDate", 1, "S2 P2 D2 C2 S1 P1 D1 C1 S0 P0 D0 C0"),
        ({"status": "SHIPPED"}, "A4", "byStatusDate", 1, "S2 S1 S0"),
        ({"status": ["SHIPPED", "PLACED"]}, "A4", "byStatusDate", 2, "S2 P2 S1 P1 S0 P0"),
        ({"status": []}, "A4", "byStatusDate", 0, ""),
        ({"status": "SHIPPED", "before": "2020-02-29T00:00Z"}, "A5'", "byStatusDate", 1, "S1 S0"),
        (
            {"status": "SHIPPED", "from": "2020-02-28T00:00Z", "before": "2020-02-29T00:00Z"},
            "A6",
            "byStatusDate",
            1,
            "S1",
        ),
        (
            {"status": ["DELIVERED", "SHIPPED"], "from": "2020-02-28T02:00:00.000001+02:00"},
            "A4 (since a date)",
            "byStatusDate",
            2,
            "S2 D2",
        ),
        ({"from": "2020-02-29T00:00Z"}, "A2 (since a date)", "byDate", 1, "S2 P2 D2 C2"),
        ({"before": "2020-02-27T00:00Z"}, "A2 (before a date)", "byDate", 1, ""),
        (
            {"from": "2020-02-28T00:00Z", "before": "2020-02-28T00:00Z"},
            "A2 (between two dates)",
            "byDate",
            0,
            "",
        ),
    ],
)
async def test_a_users_orders_are_filtered_and_paged(
    run_each: Run,
    each_table: Table,
    variables: dict[str, object],
    pattern: str,
    index: str,
    queries: int,
    ids: str,
) -> None:
    await put_orders(each_table, [*MANY, order("x", username="bob")])
    page = await listed(run_each, **variables)
    assert [one["orderId"] for one in page["nodes"]] == ids.split()
    assert page["read"] == (pattern, index, queries)


async def test_an_order_with_its_lines_is_one_query(run_each: Run, each_table: Table) -> None:
    made = await placed(run_each)
    calls = calls_of(each_table)
    answer = await run_each(
        """query ($id: ID!) { order(orderId: $id) {
            orderId status total { amount currencyCode } user { username }
            lines { productId quantity unitPrice { amount currencyCode }
                product { productId } } } }""",
        ANN,
        id=made["orderId"],
    )
    assert calls.operations == {"Query": 1}
    found = answer["data"]["order"]
    assert found["total"] == euros("25.95")
    assert found["lines"] == [{**one, "product": {"productId": one["productId"]}} for one in LINES]
    assert (found["status"], found["user"]["username"]) == ("PLACED", "ann")


async def test_open_orders_are_one_query_for_each_shard(run_each: Run, each_table: Table) -> None:
    users = [f"user{n}" for n in range(30)]
    await put_orders(
        each_table,
        [order(f"o{n}", username=one, created_at=TIES[n % 3]) for n, one in enumerate(users)],
    )
    operation = f"query ($after: String) {{ openOrders(first: 25, after: $after) {{ {PAGE} }} }}"
    pages = ReadPages()
    page = (await run_each(operation, STAFF, pages=pages))["data"]["openOrders"]
    expected = sorted(((n % 3, f"o{n}") for n in range(30)), reverse=True)
    assert [one["orderId"] for one in page["nodes"]] == [one for _, one in expected[:25]]
    ((_, plan),) = pages[0].plans
    assert pages[0].summary == ("A5", "openOrders", 8)
    assert {one.partition for one in plan.segments} == {f"PLACED#{n}" for n in range(8)}
    after = page["pageInfo"]["endCursor"]
    rest = (await run_each(operation, STAFF, after=after))["data"]["openOrders"]
    assert [one["orderId"] for one in rest["nodes"]] == [one for _, one in expected[25:]]


async def test_a_shipped_order_leaves_the_open_orders_at_once(run_each: Run) -> None:
    made = await placed(run_each)
    answer = await run_each(SET, STAFF, input={"id": made["id"], "status": "SHIPPED"})
    assert answer["data"]["setOrderStatus"] == {
        "order": {"orderId": made["orderId"], "status": "SHIPPED"},
        "userErrors": [],
    }
    answer = await run_each("{ openOrders { nodes { orderId } } }", STAFF)
    assert answer["data"]["openOrders"]["nodes"] == []
    (shipped,) = (await listed(run_each, status=["SHIPPED", "PLACED"]))["nodes"]
    assert (shipped["orderId"], shipped["status"]) == (made["orderId"], "SHIPPED")


async def test_a_range_whose_end_precedes_its_start_is_refused(run: Run) -> None:
    answer = await run(ORDERS, ANN, **{"from": "2020-02-28T01:00Z", "before": "2020-02-28T00:00Z"})
    assert codes(answer) == ["BAD_ARGUMENT"]
    assert answer["errors"][0]["extensions"]["argument"] == "createdFrom"
    # With another time zone, the same clock times are in order.
    answer = await run(
        ORDERS,
        ANN,
        **{"from": "2020-02-28T01:00+02:00", "before": "2020-02-28T00:00Z"},
    )
    assert answer["errors"] == []


@pytest.mark.parametrize("cursor", ["", "x", "EgAAAAA"])
async def test_a_wrong_cursor_is_refused(run: Run, cursor: str) -> None:
    assert codes(await run(ORDERS, ANN, after=cursor)) == ["BAD_CURSOR"]
