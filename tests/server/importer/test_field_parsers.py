from collections.abc import Callable

import pytest

from dal.errors import InvalidArgumentError
from dal.model import OrderStatus
from server.importer import field_parsers


@pytest.mark.parametrize("cell", [5, 5.0, "5", "5.0", " 5 ", "+5", "05"])
def test_a_rating_is_a_whole_number_however_it_is_written(cell: object) -> None:
    assert field_parsers.rating("rating", cell) == 5


@pytest.mark.parametrize(
    "cell", [True, 4.5, "4.5", "five", "", "5e0", [5], 1e300, "\u0665", "9" * 20]
)
def test_anything_else_is_no_rating(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match="it must be a whole number from 1 to 5"):
        field_parsers.rating("rating", cell)


@pytest.mark.parametrize("cell", [0, 6, -1, "9"])
def test_an_unknown_rating_is_named(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match=f"rating is {cell}; it goes from 1 to 5"):
        field_parsers.rating("rating", cell)


@pytest.mark.parametrize(("cell", "value"), [(12, "12"), ("a/b#c%", "a/b#c%"), (0, "0")])
def test_an_identifier_is_text_or_a_whole_number(cell: object, value: str) -> None:
    assert field_parsers.identifier("id", cell) == value


@pytest.mark.parametrize("cell", [True, 1.5, [], {"a": 1}, "", "a\tb", "x" * 513])
def test_anything_else_is_no_identifier(cell: object) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        field_parsers.identifier("product_id", cell)
    assert caught.value.argument == "product_id"


@pytest.mark.parametrize(
    ("cell", "value"), [("EN-us", "en-US"), (" de ", "de"), ("zh_tw", "zh-TW")]
)
def test_a_language_is_canonical(cell: str, value: str) -> None:
    assert field_parsers.language("language", cell) == value


@pytest.mark.parametrize("parse", [field_parsers.body, field_parsers.subject])
def test_a_text_says_something(parse: Callable[[str, object], str]) -> None:
    assert parse("text", "a\u202eb") == "ab"
    with pytest.raises(InvalidArgumentError, match="text is empty: write something"):
        parse("text", " \u202e\n")


def test_a_loaded_comment_may_be_a_rating_alone() -> None:
    assert field_parsers.review("text", "") == ""


def test_text_has_a_most() -> None:
    assert len(field_parsers.body("text", "é" * 10_000)) == 10_000
    with pytest.raises(InvalidArgumentError, match="10,001 characters long; the most is 10,000"):
        field_parsers.body("text", "x" * 10_001)
    with pytest.raises(InvalidArgumentError, match="201 characters long; the most is 200"):
        field_parsers.title("title", "x" * 201)
    with pytest.raises(InvalidArgumentError, match="text is 7; it must be text"):
        field_parsers.body("text", 7)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (True, True),
        ("TRUE", True),
        ("yes", True),
        ("Y", True),
        (1, True),
        ("0", False),
        ("f", False),
    ],
)
def test_truth_values(cell: object, value: bool) -> None:
    assert field_parsers.boolean("verified_purchase", cell) is value


def test_anything_else_is_no_truth_value() -> None:
    with pytest.raises(InvalidArgumentError, match="'maybe'; it must be true or false"):
        field_parsers.boolean("verified_purchase", "maybe")


def test_a_long_cell_is_shown_by_its_start() -> None:
    assert len(str(field_parsers.refused("text", ["x" * 5_000], "text"))) < 80


@pytest.mark.parametrize("cell", ["SHIPPED", "shipped", " Shipped "])
def test_a_choice_is_read_in_any_case(cell: str) -> None:
    assert field_parsers.choice(OrderStatus)("status", cell) is OrderStatus.SHIPPED


@pytest.mark.parametrize("cell", ["", "SENT", None, 1])
def test_another_choice_is_refused(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match="status is "):
        field_parsers.choice(OrderStatus)("status", cell)
