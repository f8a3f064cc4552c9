"""Operations on orders, and their responses."""

from typing import Any

from tests.dal.read_pages import ReadPages
from tests.schema.conftest import ANN, STAFF, Answer, Run

PAGE = """
nodes { orderId status createdAt lines { productId quantity unitPrice { amount currencyCode } } }
pageInfo { hasNextPage hasPreviousPage endCursor }
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
    order {
      id orderId status total { amount currencyCode } user { username }
      lines { productId quantity unitPrice { amount currencyCode } }
    }
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


def euros(amount: str) -> dict[str, str]:
    return {"amount": amount, "currencyCode": "EUR"}


LINES = [
    {"productId": "42", "quantity": 2, "unitPrice": euros("12.50")},
    {"productId": "7/8", "quantity": 1, "unitPrice": euros("0.95")},
]


def codes(answer: Answer) -> list[str]:
    return [error["extensions"]["code"] for error in answer["errors"]]


async def placed(run: Run, **fields: Any) -> dict[str, Any]:
    """Place an order for the user ann, and return it."""
    answer = await run(PLACE, STAFF, input={"username": "ann", "lines": LINES, **fields})
    assert answer["errors"] == []
    assert answer["data"]["placeOrder"]["userErrors"] == []
    made: dict[str, Any] = answer["data"]["placeOrder"]["order"]
    return made


async def listed(run: Run, **variables: object) -> dict[str, Any]:
    """Return a page of the orders of the user ann, with ``read``: how it was read."""
    pages = ReadPages()
    answer = await run(ORDERS, ANN, pages=pages, **variables)
    assert answer["errors"] == []
    page: dict[str, Any] = answer["data"]["user"]["orders"]
    return page | {"read": pages[0].summary}
