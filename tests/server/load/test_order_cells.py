import json
from decimal import Decimal

import pytest

from dal.errors import InvalidArgumentError
from dal.model import Money, OrderLine, OrderStatus
from server.load import order_cells

LINE = {"product_id": "42", "quantity": 2, "unit_price": "12.50 EUR"}
READ = (OrderLine("42", 2, Money(Decimal("12.50"), "EUR")),)


@pytest.mark.parametrize("cell", ["SHIPPED", "shipped", " Shipped "])
def test_a_status_is_read_in_any_case(cell: str) -> None:
    assert order_cells.status("status", cell) is OrderStatus.SHIPPED


@pytest.mark.parametrize("cell", ["", "SENT", None, 1])
def test_another_status_is_refused(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match="status is "):
        order_cells.status("status", cell)


@pytest.mark.parametrize("cell", [[LINE], json.dumps([LINE]), [{**LINE, "color": "red"}]])
def test_lines_are_a_list_or_its_text(cell: object) -> None:
    assert order_cells.lines("lines", cell) == READ


def test_a_product_may_be_a_number() -> None:
    assert order_cells.lines("lines", [{**LINE, "product_id": 42}]) == READ


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ([], "lines has 0 entries"),
        ([LINE] * 91, "lines has 91 entries"),
        (LINE, "it must be a list such as"),
        ("[{", "it must be a list such as"),
        ("[" * 100_000, "it must be a list such as"),
        (["42"], "lines.0 is '42'; it must be an object"),
        ([LINE, {**LINE, "quantity": "2"}], "lines.1.quantity is '2'; it must be a whole number"),
        ([{**LINE, "quantity": True}], "lines.0.quantity is True"),
        ([{**LINE, "quantity": 0}], "lines.0.quantity is 0; it goes from 1"),
        ([{**LINE, "unit_price": 12.5}], "lines.0.unit_price is 12.5; it must be text"),
        ([{**LINE, "unit_price": "12.50"}], "such as '12.50 EUR'"),
        ([{"quantity": 1}], "lines.0.unit_price is None"),
        ([LINE, {**LINE, "unit_price": "1 USD"}], "EUR and USD"),
    ],
)
def test_what_is_no_list_of_lines_is_refused(cell: object, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as fault:
        order_cells.lines("lines", cell)
    assert sentence in str(fault.value)
