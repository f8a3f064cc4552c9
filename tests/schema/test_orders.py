"""Orders through GraphQL: each pattern with its number of Queries, and the mutations."""

import asyncio
from typing import Any

import pytest

from dal.dynamodb import Table
from dal.model import OrderStatus
from dal.orders import OrderStore
from tests.schema.conftest import ANN, BOB, STAFF, Answer, Run
from tests.strategies import TIES, order

MANY = [
    order(f"{status[0]}{n}", username="ann", status=status, created_at=day)
    for status in OrderStatus
    for n, day in enumerate(TIES)
]
PAGE = """
nodes { orderId status createdAt lines { productId quantity unitPrice } }
pageInfo { hasNextPage hasPreviousPage endCursor }
plan { accessPattern index requests segments { partitionKey range } }
"""
ORDERS = f"""
query ($status: [OrderStatus!], $from: DateTime, $before: DateTime, $first: Int, $after: String,
    $last: Int, $end: String) {{
  user(username: "ann") {{
    orders(status: $status, createdFrom: $from, createdBefore: $before, first: $first,
      after: $after, last: $last, before: $end) {{ {PAGE} }}
  }}
}}
"""
PLACE = """
mutation ($input: PlaceOrderInput!) {
  placeOrder(input: $input) {
    order { id orderId status total user { username } lines { productId quantity unitPrice } }
    orderEdge { cursor node { orderId } }
    userErrors { field message code }
  }
}
"""
SET = """
mutation ($input: SetOrderStatusInput!) {
  setOrderStatus(input: $input) {
    order { orderId status }
    userErrors { field message code }
  }
}
"""
LINES = [
    {"productId": "42", "quantity": 2, "unitPrice": "12.50 EUR"},
    {"productId": "7/8", "quantity": 1, "unitPrice": "0.95 EUR"},
]


def codes(answer: Answer) -> list[str]:
    return [error["extensions"]["code"] for error in answer["errors"]]


async def placed(run: Run, **fields: Any) -> dict[str, Any]:
    answer = await run(PLACE, ANN, input={"lines": LINES, **fields})
    assert answer["errors"] == []
    assert answer["data"]["placeOrder"]["userErrors"] == []
    made: dict[str, Any] = answer["data"]["placeOrder"]["order"]
    return made


async def listed(run: Run, **variables: object) -> dict[str, Any]:
    answer = await run(ORDERS, ANN, explain=True, **variables)
    assert answer["errors"] == []
    page: dict[str, Any] = answer["data"]["user"]["orders"]
    return page


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
        ({"from": "2020-02-29T00:00"}, "A2 (since a date)", "byDate", 1, "S2 P2 D2 C2"),
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
async def test_the_orders_of_a_user(
    run_each: Run,
    each_table: Table,
    variables: dict[str, object],
    pattern: str,
    index: str,
    queries: int,
    ids: str,
) -> None:
    await OrderStore(each_table).put_many([*MANY, order("x", username="bob")])
    page = await listed(run_each, **variables)
    assert [one["orderId"] for one in page["nodes"]] == ids.split()
    plan = page["plan"]
    assert (plan["accessPattern"], plan["index"], plan["requests"]) == (pattern, index, queries)


async def test_pages_of_orders_go_both_ways(run_each: Run, each_table: Table) -> None:
    await OrderStore(each_table).put_many(MANY)
    statuses = ["SHIPPED", "PLACED"]
    first = await listed(run_each, status=statuses, first=4)
    assert first["pageInfo"]["hasNextPage"]
    assert not first["pageInfo"]["hasPreviousPage"]
    after = first["pageInfo"]["endCursor"]
    assert len(after) < 80
    rest = await listed(run_each, status=statuses, first=4, after=after)
    assert [one["orderId"] for one in rest["nodes"]] == ["S0", "P0"]
    assert rest["plan"]["requests"] == 2
    assert rest["pageInfo"]["hasPreviousPage"]
    last = await listed(run_each, status=statuses, last=3)
    assert [one["orderId"] for one in last["nodes"]] == ["P1", "S0", "P0"]
    back = await listed(run_each, status=statuses, last=9, end=after)
    assert [one["orderId"] for one in back["nodes"]] == ["S2", "P2", "S1"]
    # A cursor is a place in time: it goes on in a list of other statuses.
    other = await listed(run_each, status="CANCELLED", after=after)
    assert [one["orderId"] for one in other["nodes"]] == ["C1", "C0"]


async def test_an_order_with_its_lines_is_one_query(run_each: Run, each_table: Table) -> None:
    made = await placed(run_each)
    asked: list[str] = []
    client = each_table._client
    client.meta.events.register("before-call.dynamodb", lambda model, **_: asked.append(model.name))
    answer = await run_each(
        """query ($id: String!) { order(orderId: $id) {
            orderId status total user { username }
            lines { productId quantity unitPrice product { productId } } } }""",
        ANN,
        id=made["orderId"],
    )
    assert asked == ["Query"]
    found = answer["data"]["order"]
    assert found["total"] == "25.95 EUR"
    assert found["lines"] == [{**one, "product": {"productId": one["productId"]}} for one in LINES]
    assert (found["status"], found["user"]["username"]) == ("PLACED", "ann")


async def test_open_orders_are_one_query_for_each_shard(run_each: Run, each_table: Table) -> None:
    users = [f"user{n}" for n in range(30)]
    await OrderStore(each_table).put_many(
        [order(f"o{n}", username=one, created_at=TIES[n % 3]) for n, one in enumerate(users)]
    )
    operation = f"query ($after: String) {{ openOrders(first: 25, after: $after) {{ {PAGE} }} }}"
    page = (await run_each(operation, STAFF, explain=True))["data"]["openOrders"]
    expected = sorted(((n % 3, f"o{n}") for n in range(30)), reverse=True)
    assert [one["orderId"] for one in page["nodes"]] == [one for _, one in expected[:25]]
    plan = page["plan"]
    assert (plan["accessPattern"], plan["index"], plan["requests"]) == ("A5", "openOrders", 8)
    assert {one["partitionKey"] for one in plan["segments"]} == {f"PLACED#{n}" for n in range(8)}
    after = page["pageInfo"]["endCursor"]
    rest = (await run_each(operation, STAFF, explain=True, after=after))["data"]["openOrders"]
    assert [one["orderId"] for one in rest["nodes"]] == [one for _, one in expected[25:]]


async def test_a_shipped_order_leaves_the_open_ones_at_once(run_each: Run) -> None:
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


async def test_a_reversed_range_is_refused(run: Run) -> None:
    answer = await run(ORDERS, ANN, **{"from": "2020-02-28T01:00Z", "before": "2020-02-28T00:00Z"})
    assert codes(answer) == ["BAD_ARGUMENT"]
    assert answer["errors"][0]["extensions"]["argument"] == "createdFrom"
    # The same two in other zones are in order.
    answer = await run(
        ORDERS, ANN, **{"from": "2020-02-28T01:00+02:00", "before": "2020-02-28T00:00Z"}
    )
    assert answer["errors"] == []


@pytest.mark.parametrize("cursor", ["", "x", "EgAAAAA"])
async def test_a_wrong_cursor_is_refused(run: Run, cursor: str) -> None:
    assert codes(await run(ORDERS, ANN, after=cursor)) == ["BAD_CURSOR"]


async def test_placing_again_with_the_key_is_the_same_order(run: Run) -> None:
    first = await placed(run, idempotencyKey="k")
    assert await placed(run, idempotencyKey="k") == first
    await run(SET, STAFF, input={"id": first["id"], "status": "SHIPPED"})
    assert (await placed(run, idempotencyKey="k"))["status"] == "SHIPPED"
    assert (await placed(run, idempotencyKey="l"))["orderId"] != first["orderId"]
    assert (await placed(run))["orderId"] != (await placed(run))["orderId"]
    others = await run(PLACE, BOB, input={"lines": LINES, "idempotencyKey": "k"})
    assert others["data"]["placeOrder"]["order"]["user"]["username"] == "bob"
    changed = await run(PLACE, ANN, input={"lines": LINES[:1], "idempotencyKey": "k"})
    (error,) = changed["data"]["placeOrder"]["userErrors"]
    assert error["code"] == "IDEMPOTENCY_KEY_REUSED"


async def test_the_new_edge_stands_where_its_cursor_says(run: Run) -> None:
    answer = await run(PLACE, ANN, input={"lines": LINES})
    edge = answer["data"]["placeOrder"]["orderEdge"]
    second = await placed(run)
    page = await listed(run, end=edge["cursor"])
    assert [one["orderId"] for one in page["nodes"]] == [second["orderId"]]


@pytest.mark.parametrize(
    ("lines", "blamed"),
    [
        ([], "lines"),
        (LINES[:1] * 91, "lines"),
        ([LINES[0], {**LINES[1], "quantity": 0}], "lines.1.quantity"),
        ([{**LINES[0], "productId": ""}], "lines.0.productId"),
        ([{**LINES[0], "unitPrice": "12.50"}], "lines.0.unitPrice"),
        ([LINES[0], {**LINES[1], "unitPrice": "1 JPY"}], "lines"),
    ],
)
async def test_an_order_that_breaks_a_rule_is_not_placed(
    run: Run, lines: list[object], blamed: str
) -> None:
    payload = (await run(PLACE, ANN, input={"lines": lines}))["data"]["placeOrder"]
    (error,) = payload["userErrors"]
    assert (error["code"], error["field"], payload["order"]) == ("BAD_ARGUMENT", blamed, None)
    assert (await listed(run))["nodes"] == []


async def test_illegal_steps_and_misses_are_user_errors(run: Run) -> None:
    made = await placed(run)

    async def errors(node_id: str, status: str) -> list[tuple[str, str | None]]:
        answer = await run(SET, STAFF, input={"id": node_id, "status": status})
        given = answer["data"]["setOrderStatus"]["userErrors"]
        return [(error["code"], error["field"]) for error in given]

    assert await errors(made["id"], "DELIVERED") == [("BAD_ARGUMENT", "status")]
    assert await errors(made["id"], "PLACED") == [("BAD_ARGUMENT", "status")]
    assert await errors("T3JkZXI6bm9uZQ==", "SHIPPED") == [("NOT_FOUND", None)]
    assert await errors("UHJvZHVjdDox", "SHIPPED") == [("BAD_ARGUMENT", "id")]
    assert await errors(made["id"], "SHIPPED") == []


async def test_one_of_two_racing_mutations_is_done(run: Run) -> None:
    made = await placed(run)
    steps = [{"id": made["id"], "status": status} for status in ("SHIPPED", "CANCELLED")]
    answers = await asyncio.gather(*(run(SET, STAFF, input=one) for one in steps))
    payloads = [answer["data"]["setOrderStatus"] for answer in answers]
    assert sorted(payload["order"] is None for payload in payloads) == [False, True]
    (error,) = [one for payload in payloads for one in payload["userErrors"]]
    assert error["code"] in {"CONFLICT", "BAD_ARGUMENT"}


PROFILE = "user { id username profile { fullName email } }"


async def test_a_profile_is_changed_field_by_field(run_each: Run) -> None:
    update = f"""mutation ($input: UpdateProfileInput!) {{
        updateProfile(input: $input) {{ {PROFILE} userErrors {{ field code }} }} }}"""
    query = '{ user(username: "ann") { profile { fullName email } } }'
    assert (await run_each(query, ANN))["data"]["user"]["profile"] is None
    await run_each(update, ANN, input={"fullName": "Ann"})
    answer = await run_each(update, ANN, input={"email": "ann@b.org", "fullName": None})
    profile = {"fullName": "Ann", "email": "ann@b.org"}
    assert answer["data"]["updateProfile"]["user"]["profile"] == profile
    assert (await run_each(query, STAFF))["data"]["user"]["profile"] == profile
    answer = await run_each(update, ANN, input={"email": "nobody"})
    assert answer["data"]["updateProfile"]["userErrors"] == [
        {"field": "email", "code": "BAD_ARGUMENT"}
    ]
    answer = await run_each(update, ANN, input={"email": ""})
    assert answer["data"]["updateProfile"]["user"]["profile"] == {"fullName": "Ann", "email": ""}


ADD = """
mutation ($input: AddCommentInput!) {
  addComment(input: $input) { comment { id verifiedPurchase } userErrors { message } }
}
"""
EDIT = """
mutation ($input: UpdateCommentInput!) {
  updateComment(input: $input) { comment { rating verifiedPurchase } userErrors { message } }
}
"""


async def test_a_comment_on_a_delivered_product_is_verified(run_each: Run) -> None:
    async def commented(product: str) -> dict[str, Any]:
        given = {"productId": product, "rating": 5, "language": "en", "text": "It boils."}
        answer = await run_each(ADD, ANN, input=given)
        comment: dict[str, Any] = answer["data"]["addComment"]["comment"]
        return comment

    async def edited(comment: dict[str, Any]) -> object:
        answer = await run_each(EDIT, ANN, input={"id": comment["id"], "rating": 1})
        return answer["data"]["updateComment"]["comment"]["verifiedPurchase"]

    made = await placed(run_each)
    before = await commented("7/8")
    assert not before["verifiedPurchase"]
    await run_each(SET, STAFF, input={"id": made["id"], "status": "SHIPPED"})
    assert not (await commented("7/8"))["verifiedPurchase"]
    await run_each(SET, STAFF, input={"id": made["id"], "status": "DELIVERED"})
    after = await commented("7/8")
    assert after["verifiedPurchase"]
    assert not (await commented("7"))["verifiedPurchase"]
    # Decided when commenting, and kept.
    assert [await edited(before), await edited(after)] == [False, True]
