import json
from decimal import Decimal

import pytest

from dal.errors import InvalidArgumentError
from dal.model import Money, OrderLine, UserType
from server.importer.list_parsers import order_lines, users

LINE = {"product_id": "42", "quantity": 2, "unit_price": "12.50 EUR"}
READ = (OrderLine("42", 2, Money(Decimal("12.50"), "EUR")),)
ANA = {"username": "ana", "type": "admin"}


@pytest.mark.parametrize("cell", [[LINE], json.dumps([LINE]), [{**LINE, "color": "red"}]])
def test_lines_are_a_list_or_its_text(cell: object) -> None:
    assert order_lines("lines", cell) == READ


def test_a_product_may_be_a_number() -> None:
    assert order_lines("lines", [{**LINE, "product_id": 42}]) == READ


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
        order_lines("lines", cell)
    assert sentence in str(fault.value)


@pytest.mark.parametrize("cell", [[ANA, {"username": 7}], json.dumps([ANA, {"username": 7}])])
def test_users_are_a_list_or_its_text(cell: object) -> None:
    assert users("users", cell) == {"ana": UserType.ADMIN, "7": UserType.MEMBER}
    assert users("users", []) == {}


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (ANA, "users is {'username': 'ana', 'type': 'admin'}; it must be a list such as [{"),
        ("ana", "users is 'ana'; it must be a list such as"),
        ("[" * 100_000, "it must be a list such as"),
        (["ana"], "users.0 is 'ana'; it must be an object with username and type"),
        ([ANA, {"type": "ADMIN"}], "users.1.username is None; it must be text"),
        ([{"username": ""}], "users.0.username is empty"),
        ([{**ANA, "type": "OWNER"}], "users.0.type is 'OWNER'; it must be one of MEMBER, ADMIN"),
        ([{**ANA, "type": None}], "users.0.type is None; it must be text"),
        ([ANA, ANA], "users.1 has the username of an earlier one"),
    ],
)
def test_what_is_no_list_of_users_is_refused(cell: object, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as fault:
        users("users", cell)
    assert sentence in str(fault.value)
