"""The mutations of orders and profiles, and what a delivery means for comments."""

from typing import Any

import pytest

from resolvers.context import Viewer
from tests.schema.conftest import ANN, MODERATOR, STAFF, Run
from tests.schema.ordering import LINES, PLACE, SET, codes, euros, listed, placed


async def test_placing_an_order_again_with_its_key_returns_the_same_order(run: Run) -> None:
    first = await placed(run, idempotencyKey="k")
    assert await placed(run, idempotencyKey="k") == first
    await run(SET, STAFF, input={"id": first["id"], "status": "SHIPPED"})
    assert (await placed(run, idempotencyKey="k"))["status"] == "SHIPPED"
    assert (await placed(run, idempotencyKey="l"))["orderId"] != first["orderId"]
    assert (await placed(run))["orderId"] != (await placed(run))["orderId"]
    others = await placed(run, username="bob", idempotencyKey="k")
    assert others["user"]["username"] == "bob"
    given = {"username": "ann", "lines": LINES[:1], "idempotencyKey": "k"}
    changed = await run(PLACE, STAFF, input=given)
    (error,) = changed["data"]["placeOrder"]["userErrors"]
    assert (error["code"], error["field"]) == ("IDEMPOTENCY_KEY_REUSED", None)


async def test_a_retried_order_keeps_the_customers_name_of_the_first_request(run: Run) -> None:
    text = PLACE.replace("orderId", "orderId customerName", 1)

    async def name_of(**given: str | None) -> str:
        stated = {"username": "auth0|64f0c1", "lines": LINES, "idempotencyKey": "n", **given}
        shown: str = (await run(text, STAFF, input=stated))["data"]["placeOrder"]["order"][
            "customerName"
        ]
        return shown

    assert await name_of(name=" Ana Pérez ") == "Ana Pérez"
    assert await name_of(name="Ana P. Gómez") == "Ana Pérez"
    assert await name_of(name=None, username="ann") == "ann"
    answer = await run(PLACE, STAFF, input={"username": "ann", "lines": LINES, "name": " "})
    (error,) = answer["data"]["placeOrder"]["userErrors"]
    assert error["field"] == ["input", "name"]


@pytest.mark.parametrize("viewer", [ANN, MODERATOR])
async def test_customers_cannot_set_prices(run: Run, viewer: Viewer) -> None:
    free = {"productId": "42", "quantity": 1, "unitPrice": euros("0")}
    answer = await run(PLACE, viewer, input={"username": viewer.user_id, "lines": [free]})
    assert (codes(answer), answer["data"]) == (["FORBIDDEN"], {"placeOrder": None})
    assert (await listed(run))["nodes"] == []


async def test_the_cursor_of_a_new_edge_is_its_position_in_the_list(run: Run) -> None:
    answer = await run(PLACE, STAFF, input={"username": "ann", "lines": LINES})
    edge = answer["data"]["placeOrder"]["orderEdge"]
    second = await placed(run)
    page = await listed(run, end=edge["cursor"])
    assert [one["orderId"] for one in page["nodes"]] == [second["orderId"]]


@pytest.mark.parametrize(
    ("lines", "blamed"),
    [
        ([], []),
        (LINES[:1] * 91, []),
        ([LINES[0], {**LINES[1], "quantity": 0}], ["1", "quantity"]),
        ([{**LINES[0], "productId": ""}], ["0", "productId"]),
        ([{**LINES[0], "unitPrice": euros("12.505")}], ["0", "unitPrice", "amount"]),
        ([{**LINES[0], "unitPrice": euros("-0")}], ["0", "unitPrice", "amount"]),
        ([{**LINES[0], "unitPrice": euros("1" + "0" * 12)}], ["0", "unitPrice", "amount"]),
        ([{**LINES[0], "unitPrice": euros("9" * 5_000)}], ["0", "unitPrice", "amount"]),
        (
            [{**LINES[0], "unitPrice": {"amount": "1", "currencyCode": "ZZZ"}}],
            ["0", "unitPrice", "currencyCode"],
        ),
        ([LINES[0], {**LINES[1], "unitPrice": {"amount": "1", "currencyCode": "JPY"}}], []),
    ],
)
async def test_an_order_that_breaks_a_rule_is_not_placed(
    run: Run, lines: list[object], blamed: list[str]
) -> None:
    given = {"username": "ann", "lines": lines}
    payload = (await run(PLACE, STAFF, input=given))["data"]["placeOrder"]
    (error,) = payload["userErrors"]
    assert (error["code"], payload["order"]) == ("BAD_ARGUMENT", None)
    assert error["field"] == ["input", "lines", *blamed]
    assert (await listed(run))["nodes"] == []


async def test_illegal_changes_of_status_and_missing_orders_are_user_errors(run: Run) -> None:
    made = await placed(run)

    async def errors(node_id: str, status: str) -> list[tuple[str, list[str] | None]]:
        answer = await run(SET, STAFF, input={"id": node_id, "status": status})
        given = answer["data"]["setOrderStatus"]["userErrors"]
        return [(error["code"], error["field"]) for error in given]

    assert await errors(made["id"], "DELIVERED") == [("BAD_ARGUMENT", ["input", "status"])]
    assert await errors(made["id"], "PLACED") == [("BAD_ARGUMENT", ["input", "status"])]
    assert await errors("T3JkZXI6bm9uZQ==", "SHIPPED") == [("NOT_FOUND", None)]
    assert await errors("UHJvZHVjdDox", "SHIPPED") == [("BAD_ARGUMENT", ["input", "id"])]
    assert await errors(made["id"], "SHIPPED") == []


PROFILE = "user { id username profile { fullName email } }"


async def test_a_profile_is_changed_field_by_field(run_each: Run) -> None:
    update = f"""mutation ($input: UpdateProfileInput!) {{
        updateProfile(input: $input) {{ {PROFILE} userErrors {{ field code }} }} }}"""
    query = '{ user(username: "ann") { profile { fullName email } } }'
    assert (await run_each(query, ANN))["data"]["user"]["profile"] is None
    await run_each(update, ANN, input={"fullName": "Ann"})
    answer = await run_each(update, ANN, input={"email": "ann@b.org"})
    profile = {"fullName": "Ann", "email": "ann@b.org"}
    assert answer["data"]["updateProfile"]["user"]["profile"] == profile
    assert (await run_each(query, STAFF))["data"]["user"]["profile"] == profile
    answer = await run_each(update, ANN, input={"email": "nobody"})
    assert answer["data"]["updateProfile"]["userErrors"] == [
        {"field": ["input", "email"], "code": "BAD_ARGUMENT"}
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


async def test_a_comment_on_a_delivered_product_is_a_verified_purchase(run_each: Run) -> None:
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
    # verifiedPurchase is determined when the comment is added, and an edit keeps it
    assert [await edited(before), await edited(after)] == [False, True]
