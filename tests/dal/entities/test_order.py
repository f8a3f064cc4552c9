from decimal import Decimal

import pytest

from dal.entities.order import ORDER, order_key, purchase_key, purchases
from dal.model import Money, OrderLine, OrderStatus
from tests.strategies import order


@pytest.mark.parametrize("status", OrderStatus)
def test_only_placed_orders_are_open_orders(status: OrderStatus) -> None:
    assert ("PlacedId" in ORDER.encode(order(status=status))) is (status is OrderStatus.PLACED)


def test_an_order_has_the_attributes_that_the_design_describes() -> None:
    item = ORDER.encode(order("7/8", username="a#b"))
    assert item == {
        "PK": {"S": "USER#a%23b"},
        "SK": {"S": "ORDER#7%2F8"},
        "OrderDate": {"S": "2020-02-27T00:00:00.000000Z#7%2F8"},
        "OrderStatusDate": {"S": "PLACED#2020-02-27T00:00:00.000000Z#7%2F8"},
        "GSI1PK": {"S": "ORDER#7%2F8"},
        "GSI1SK": {"S": "ORDER#7%2F8"},
        "PlacedId": item["PlacedId"],
        "status": {"S": "PLACED"},
        "data": {"S": '{"lines":[{"productId":"42","quantity":2,"unitPrice":"12.50 EUR"}]}'},
    }
    assert item["PlacedId"]["S"].startswith("PLACED#")
    assert {name: item[name] for name in ("PK", "SK")} == order_key("a#b", "7/8")


def test_the_total_is_exact() -> None:
    price = Money(Decimal("0.10"), "EUR")
    lines = (OrderLine("1", 3, price), OrderLine("2", 10_000, Money(Decimal("99.99"), "EUR")))
    assert str(order(lines=lines).total) == "999900.30 EUR"


@pytest.mark.parametrize("status", OrderStatus)
def test_only_a_delivered_order_creates_purchases(status: OrderStatus) -> None:
    price = Money(Decimal(1), "EUR")
    lines = tuple(OrderLine(product, 1, price) for product in ("a", "b", "a"))
    left = purchases(order(status=status, lines=lines))
    received = [purchase_key("ana", "a"), purchase_key("ana", "b")]
    assert left == (received if status is OrderStatus.DELIVERED else [])
