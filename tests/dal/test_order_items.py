from decimal import Decimal

import pytest
from hypothesis import given

from dal.dynamodb import Table
from dal.indexes import ORDER_INDEXES
from dal.model import Money, Order, OrderLine, OrderStatus
from dal.order_items import (
    decode_order,
    encode_order,
    order_key,
    order_position,
    purchase_key,
    purchases,
)
from dal.positions import Range
from dal.requests import QueryRequest
from dal.tables import PROJECTED
from tests.strategies import MORE, order, orders


@MORE
@given(orders)
def test_decode_undoes_encode(one: Order) -> None:
    assert decode_order(encode_order(one)) == one


@MORE
@given(orders)
def test_every_index_row_is_enough_for_the_whole_order(one: Order) -> None:
    item = encode_order(one)
    for index in ORDER_INDEXES:
        if index.name is not None and index.sort_key in item:
            keys = ("PK", "SK", index.partition_key, index.sort_key)
            shown = (*keys, *PROJECTED[index.name])
            row = {name: item[name] for name in shown if name in item}
            assert decode_order(row) == one


@pytest.mark.parametrize("status", OrderStatus)
def test_only_a_placed_order_stands_among_the_open_ones(status: OrderStatus) -> None:
    assert ("PlacedId" in encode_order(order(status=status))) is (status is OrderStatus.PLACED)


def test_an_item_reads_as_the_design_says() -> None:
    item = encode_order(order("7/8", username="a#b"))
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
def test_only_a_delivered_order_leaves_purchases(status: OrderStatus) -> None:
    price = Money(Decimal(1), "EUR")
    lines = tuple(OrderLine(product, 1, price) for product in ("a", "b", "a"))
    left = purchases(order(status=status, lines=lines))
    received = [purchase_key("ana", "a"), purchase_key("ana", "b")]
    assert left == (received if status is OrderStatus.DELIVERED else [])


async def test_indexes_project_what_orders_need(each_table: Table) -> None:
    one = order("7")
    await each_table.put_many([encode_order(one)])
    item = encode_order(one)
    for index in ORDER_INDEXES:
        partition = item[index.partition_key]["S"]
        answer = await each_table.query(
            QueryRequest(
                index=index.name,
                partition=(index.partition_key, partition),
                sort_key=index.sort_key,
                range=Range(),
                descending=True,
                limit=5,
                consistent=index.consistent,
            )
        )
        assert [decode_order(row) for row in answer.items] == [one]
    assert order_position(one) == "2020-02-27T00:00:00.000000Z#7"
